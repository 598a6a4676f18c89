// SPDX-License-Identifier: BSD-3-Clause
// How long an object with an error handler lives: its handle and each request in it are a reference.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::mpi {

struct error_owner;

/// Destroys objects of one kind that have no references any more.
class owner_registry {
 public:
  /// **Threads**: any, also inside progress.
  virtual void end(error_owner& last) noexcept = 0;

 protected:
  ~owner_registry() = default;
};

/// MPI_COMM_WORLD, MPI_COMM_SELF and MPI_FILE_NULL live as long as their rank, and count nothing.
class lifetime {
 public:
  /// Counts from now on: the handle is the first reference.
  void begin(owner_registry& registry) noexcept { registry_ = &registry; }
  void add_reference() noexcept {
    // [lifetime.add] relaxed: the caller has a reference, or is about to give the first handle.
    if (registry_ != nullptr) references_.fetch_add(1, std::memory_order_relaxed);
  }
  void remove_reference(error_owner& owner) noexcept {
    if (registry_ == nullptr) return;
    // [lifetime.remove] acq_rel <-> [lifetime.remove]: all that was done with the object comes before its end.
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) end(owner);
  }

 private:
  void end(error_owner& owner) noexcept;

  std::atomic<std::uint32_t> references_{1};  // the first one is the handle's
  owner_registry* registry_ = nullptr;
};

}  // namespace weft::mpi
