// SPDX-License-Identifier: BSD-3-Clause
// Makes communicators on which their members have agreed.
#pragma once

#include <memory>
#include <new>
#include <optional>

#include "mpi.h"
#include "mpi/objects/communicator.hpp"

namespace weft::mpi {

struct rank_state;

/// A communicator on which its members have agreed.
struct agreed_communicator {
  std::uint32_t context;
  shared_group local;
  matching_kind matching = matching_kind::in_order;
  std::optional<std::uint32_t> vci{};              // the number that the program wants
  mpi::vci* stream = nullptr;                      // the one of a stream, where it is to be that; else null
  std::shared_ptr<const stream_routes> streams{};  // of a stream communicator
};

/// Memory for a communicator: its handle is known before it is made.
class communicator_memory {
 public:
  /// **Errors**: `std::bad_alloc`.
  communicator_memory();
  [[nodiscard]] MPI_Comm handle() const noexcept { return reinterpret_cast<MPI_Comm>(memory_.get()); }
  /// Lets `find_pending` find the error handler that it is going to have.
  void set_pending(error_handler_slot& handler) noexcept;
  /// Makes it here, once. **Errors**: of the engine and the group.
  [[nodiscard]] std::unique_ptr<communicator> make(weft::runtime& runtime, vci& interface, communicator_parts parts);

 private:
  struct releaser {
    void operator()(void* memory) const noexcept { ::operator delete(memory); }
  };
  std::unique_ptr<void, releaser> memory_;
};

/// The error handler of a communicator of MPI_Comm_idup whose request is not complete; null: it is none.
[[nodiscard]] error_handler_slot* find_pending(MPI_Comm handle) noexcept;

/// Makes a communicator, whose error handler is that of `parent`, and keeps it. Sends nothing. **Errors**: of the
/// engine and the group; `invalid_state` if there is no id left.
communicator& make_communicator(rank_state& rank, communicator& parent, agreed_communicator agreed,
                                communicator_memory memory = {});

}  // namespace weft::mpi
