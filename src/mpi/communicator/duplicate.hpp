// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_dup and its like.
#pragma once

#include "mpi.h"

namespace weft::mpi {

class info;
struct communicator;
struct rank_state;

/// A new communicator of the same members, with the topology, and without hints (MPI 5.0, 7.4.2).
int duplicate(rank_state& rank, communicator& comm, MPI_Comm* out) noexcept;
/// Starts a duplicate: `out` may be used once the request is complete.
int start_duplicate(rank_state& rank, communicator& comm, MPI_Comm* out, MPI_Request* request) noexcept;
/// The duplicate has the hints of an info object, which may be null.
int duplicate_with_info(rank_state& rank, communicator& comm, const info* hints, MPI_Comm* out) noexcept;
int start_duplicate_with_info(rank_state& rank, communicator& comm, const info* hints, MPI_Comm* out,
                              MPI_Request* request) noexcept;

/// MPI_Comm_set_errhandler. Programs, mpi4py among them, call it for a communicator of MPI_Comm_idup before its request
/// is complete: then the communicator is made with that handler. `comm` is null for such a handle.
int set_error_handler_also_pending(MPI_Comm handle, communicator* comm, MPI_Errhandler to) noexcept;

/// MPI_Comm_set_info: the kind of an engine stays, and so do the hints that allow it.
int set_hints(communicator& comm, const info* hints) noexcept;
int get_hints(const communicator& comm, MPI_Info* made) noexcept;

}  // namespace weft::mpi
