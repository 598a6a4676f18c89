// SPDX-License-Identifier: BSD-3-Clause
// The communicators that a program has made, until they are destroyed.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "mpi/objects/communicator.hpp"
#include "mpi/objects/context_ids.hpp"

namespace weft::mpi {

/// An engine may not end inside progress, where the last request of a freed communicator may complete: communicators
/// without references wait until a thread makes or frees another one, or until MPI_Finalize. **Threads**: any.
class communicator_registry final : public owner_registry {
 public:
  explicit communicator_registry(weft::runtime& runtime);
  communicator_registry(const communicator_registry&) = delete;
  communicator_registry& operator=(const communicator_registry&) = delete;
  ~communicator_registry();

  /// Keeps a new communicator, whose handle is its one reference. **Errors**: `std::bad_alloc`.
  communicator& add(std::unique_ptr<communicator> made);
  /// Destroys communicators without references. Not inside progress.
  void destroy_ended() noexcept;
  /// The ids of new ones.
  [[nodiscard]] context_ids& contexts() noexcept { return contexts_; }
  /// The engine in which the members of a group agree on a communicator without the others (`agree_in_group`).
  [[nodiscard]] const weft::matching_engine& agreements() const noexcept { return agreements_; }
  /// Calls `visit(const communicator&)` for that of this engine, if there is one; none ends meanwhile.
  template <class Visit>
  void visit(std::uint32_t context, const Visit& visit) const {
    const std::lock_guard locked{mutex_};
    for (const auto& each : all_) {
      if (each->engine.id() == context) return visit(*each);
    }
  }
  /// All that there are, the ones that wait for their destruction too. **Errors**: `std::bad_alloc`.
  [[nodiscard]] std::vector<communicator*> all() const;
  /// How many these are.
  [[nodiscard]] std::size_t count() const;

 private:
  void end(error_owner& last) noexcept override;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<communicator>> all_;
  communicator* ended_ = nullptr;
  context_ids contexts_;
  weft::matching_engine agreements_;
};

}  // namespace weft::mpi
