// SPDX-License-Identifier: BSD-3-Clause
// The communicators that a program has made, until they are destroyed.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "mpi/objects/communicator.hpp"

namespace weft::mpi {

/// An engine may not end inside progress, where the last request of a freed communicator may complete: communicators
/// without references wait until a thread makes or frees another one, or until MPI_Finalize. **Threads**: any.
class made_communicators {
 public:
  explicit made_communicators(weft::runtime& of);
  made_communicators(const made_communicators&) = delete;
  made_communicators& operator=(const made_communicators&) = delete;
  ~made_communicators();

  /// Keeps a new communicator, whose handle is its one reference. **Errors**: `std::bad_alloc`.
  communicator& add(std::unique_ptr<communicator> made);
  /// Destroys communicators without references. Not inside progress.
  void destroy_ended() noexcept;
  /// In which the members of a group agree on a communicator without the others (`agree_in_group`).
  [[nodiscard]] const weft::matching_engine& agreements() const noexcept { return agreements_; }
  /// All that there are, the ones that wait for their destruction too. **Errors**: `std::bad_alloc`.
  [[nodiscard]] std::vector<communicator*> all() const;
  /// How many these are.
  [[nodiscard]] std::size_t count() const;

 private:
  friend class lifetime;
  void end(communicator& last) noexcept;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<communicator>> all_;
  communicator* ended_ = nullptr;
  weft::matching_engine agreements_;
};

}  // namespace weft::mpi
