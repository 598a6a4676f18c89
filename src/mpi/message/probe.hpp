// SPDX-License-Identifier: BSD-3-Clause
// Probes, and receives of messages that a probe has matched (3.8). Arguments are checked by the callers, the entry
// points.
#pragma once

#include "mpi.h"
#include "mpi/message/post.hpp"
#include "mpi/message/typed_buffer.hpp"

namespace weft::mpi {

int try_probe(rank_state& rank, communicator& comm, envelope from, int* flag, MPI_Status* status) noexcept;
int probe(rank_state& rank, communicator& comm, envelope from, MPI_Status* status) noexcept;

/// These give a message that no other receive can match.
int try_match(rank_state& rank, communicator& comm, envelope from, int* flag, MPI_Message* message,
              MPI_Status* status) noexcept;
int match(rank_state& rank, communicator& comm, envelope from, MPI_Message* message, MPI_Status* status) noexcept;

/// These take the message, whose handle becomes null.
int receive_matched(rank_state& rank, const typed_buffer& into, MPI_Message* message, MPI_Status* status) noexcept;
int start_receive_matched(rank_state& rank, const typed_buffer& into, MPI_Message* message,
                          MPI_Request* request) noexcept;

}  // namespace weft::mpi
