// SPDX-License-Identifier: BSD-3-Clause
// How long a communicator lives: its handle and each request in it are a reference. When the last one goes, no receive
// is posted in its engine any more, and the engine may end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::mpi {

struct communicator;
class communicator_registry;

/// MPI_COMM_WORLD and MPI_COMM_SELF live as long as their rank, and count nothing.
class lifetime {
 public:
  void add_reference() noexcept {
    // [lifetime.add] relaxed: the caller has a reference, or is about to give the first handle.
    if (registry_ != nullptr) references_.fetch_add(1, std::memory_order_relaxed);
  }
  void remove_reference(communicator& comm) noexcept {
    if (registry_ == nullptr) return;
    // [lifetime.remove] acq_rel <-> [lifetime.remove]: all that was done with the communicator comes before its end.
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) end(comm);
  }

 private:
  friend class communicator_registry;
  void end(communicator& comm) noexcept;

  std::atomic<std::uint32_t> references_{1};  // the first one is the handle's
  communicator_registry* registry_ = nullptr;
  std::size_t index_ = 0;               // its place in the registry
  communicator* next_ended_ = nullptr;  // links communicators that wait for their destruction
};

}  // namespace weft::mpi
