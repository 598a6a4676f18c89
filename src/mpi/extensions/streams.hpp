// SPDX-License-Identifier: BSD-3-Clause
// Streams and their communicators (zhou2024, 3.1). Arguments are checked by the callers, the entry points.
#pragma once

#include "mpi.h"
#include "mpix.h"

namespace weft::mpi {

struct communicator;
struct rank_state;

/// MPIX_Stream_create.
int create_stream(rank_state& rank, MPIX_Stream* made) noexcept;
/// MPIX_Stream_free: an error class where the stream has a progress thread, hooks, communicators or operations.
/// **Blocking**: until calls of progress on the default device return that other threads have begun.
int free_stream(rank_state& rank, MPIX_Stream* handle) noexcept;

/// MPIX_Stream_comm_create. **Blocking**: until all members of `parent` have called it.
int create_stream_communicator(rank_state& rank, communicator& parent, MPIX_Stream own, MPI_Comm* made) noexcept;
/// MPIX_Stream_comm_create_multiplex: `own` are `count` streams of this member. **Blocking**: likewise.
int create_multiplex_communicator(rank_state& rank, communicator& parent, int count, const MPIX_Stream* own,
                                  MPI_Comm* made) noexcept;
/// MPIX_Comm_get_stream. The stream of a communicator that is none of streams is the default one.
int get_stream(const communicator& comm, int index, MPIX_Stream* found) noexcept;

}  // namespace weft::mpi
