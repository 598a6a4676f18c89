// SPDX-License-Identifier: BSD-3-Clause
// All state of a rank. `current_rank()` finds it. All ranks of a process share predefined datatypes, those of Fortran,
// the numbers of handles, and the locks of error handlers and of communicators' names; each thread has its last error.
#pragma once

#include "mpi.h"
#include "mpi/error/user_error_codes.hpp"
#include "mpi/objects/attribute.hpp"
#include "mpi/objects/bsend_buffer.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/communicator_registry.hpp"
#include "mpi/objects/fortran_properties.hpp"
#include "mpi/objects/message.hpp"
#include "mpi/objects/request.hpp"
#include "mpi/objects/request_pool.hpp"
#include "mpi/objects/session.hpp"
#include "mpi/objects/type_names.hpp"
#include "mpi/objects/vci_list.hpp"
#include "mpi/rank/environment_info.hpp"
#include "mpi/rank/names_in_reports.hpp"
#include "mpi/tool/tool_interface.hpp"
#include "weft/detail/test_loop.hpp"
#include "weft/device.hpp"
#include "weft/runtime.hpp"

namespace weft::mpi {

/// The state of a rank, between MPI_Init and MPI_Finalize. Its members are made in their order.
struct rank_state {
  explicit rank_state(mpi::session started);

  mpi::session session;  // MPI_Init has started it
  weft::runtime& runtime;
  weft::device& device;  // the default one
  request_signals signals;
  request_pool requests;
  vci_list vcis;
  type_names names_of_types;
  buffered_sends buffered;
  communicator world;
  communicator self;
  communicator_registry communicators;
  matched_messages messages;
  rank_attributes attributes;
  environment_info environment;
  error_owner files{object_kind::file, error_handler_slot{MPI_ERRORS_RETURN}};  // MPI_FILE_NULL alone
  names_in_reports names{*this};  // the last member: a report may ask for the others
};

/// The rank of a process; of a thread, where ranks are threads (weft/test/local_job.hpp).
struct rank_slot {
  weft::runtime* given = nullptr;         // the runtime that MPI_Init takes instead of making one
  rank_state* state = nullptr;            // MPI_Init makes it, MPI_Finalize destroys it
  rank_state* unchecked_state = nullptr;  // `state`, or null where calls are checked
  bool is_finalized = false;
  // The following may be used outside of MPI_Init and MPI_Finalize, too.
  user_error_codes codes{};
  fortran_properties fortran{};
  tool_interface tools{};
};

namespace detail {
extern constinit rank_slot process_slot;
/// What each thread has.
struct thread_state {
  rank_slot* slot = nullptr;  // null but where ranks are threads
  weft::detail::test_loop tests;
};
/// It is in the static block of the thread, so that it costs one load.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local thread_state this_thread;
}  // namespace detail

/// Makes the calling thread a thread of the rank of `slot`; null: of the process's rank.
void be_thread_of(rank_slot* slot) noexcept;

[[nodiscard]] inline rank_slot& current_slot() noexcept {
  return detail::this_thread.slot != nullptr ? *detail::this_thread.slot : detail::process_slot;
}
/// The rank of the calling thread. Null before MPI_Init and after MPI_Finalize.
[[nodiscard]] inline rank_state* current_rank() noexcept { return current_slot().state; }
/// For entry points: null also where calls are checked, for which they have another path.
[[nodiscard]] inline rank_state* unchecked_rank() noexcept { return current_slot().unchecked_state; }

/// The communicator of any handle but MPI_COMM_WORLD.
[[nodiscard]] communicator* find_other_communicator(rank_state& rank, MPI_Comm handle) noexcept;
/// The communicator of a handle; null if it is none.
[[nodiscard]] inline communicator* find_communicator(rank_state& rank, MPI_Comm handle) noexcept {
  if (handle == MPI_COMM_WORLD) [[likely]]
    return &rank.world;
  return find_other_communicator(rank, handle);
}
[[nodiscard]] MPI_Comm handle_of(const rank_state& rank, communicator& comm) noexcept;

/// The device on which progress ends an operation.
[[nodiscard]] inline weft::device& device_of(rank_state& rank, const request& req) noexcept {
  return req.owner != nullptr ? req.comm().route.device : rank.device;
}

/// The VCI of a stream; null: the default stream.
[[nodiscard]] inline vci& interface_of(rank_state& rank, stream* own) noexcept {
  return own != nullptr ? own->own_vci : rank.vcis.first();
}

/// The info object of a handle; null: MPI_INFO_NULL, or no info object. MPI_INFO_ENV is one of a rank.
[[nodiscard]] info* find_info(rank_state* rank, MPI_Info handle) noexcept;

}  // namespace weft::mpi
