// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives between streams of multiplex communicators (zhou2024, 3.1). Arguments are checked by the callers,
// the entry points, but for the indices.
#pragma once

#include "mpi.h"
#include "mpi/message/point_to_point.hpp"

namespace weft::mpi {

struct communicator;
struct rank_state;

/// The streams of a message, by their indices at the member that sends it and at the one that receives it.
struct stream_indices {
  int source;
  int destination;
};

/// The stream forms of MPI_Send, MPI_Isend, MPI_Recv and MPI_Irecv. A communicator that is none of several streams has
/// one, of index 0. **Threads**: those of the caller's stream.
int send_by_stream(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to,
                   stream_indices indices) noexcept;
int start_send_by_stream(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to,
                         stream_indices indices, MPI_Request* request) noexcept;
/// A message matches whatever the stream is that it was sent from.
int receive_by_stream(rank_state& rank, communicator& comm, const typed_buffer& into, envelope from,
                      stream_indices indices, MPI_Status* status) noexcept;
int start_receive_by_stream(rank_state& rank, communicator& comm, const typed_buffer& into, envelope from,
                            stream_indices indices, MPI_Request* request) noexcept;

}  // namespace weft::mpi
