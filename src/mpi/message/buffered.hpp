// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends (3.4, 3.6): the message is copied into a buffer that the program has attached, and sent from there.
// Arguments are checked by the callers, the entry points.
#pragma once

#include "mpi.h"
#include "mpi/message/post.hpp"
#include "mpi/message/typed_buffer.hpp"
#include "mpi/objects/bsend_buffer.hpp"

namespace weft::mpi {

/// Messages are in the buffer of the communicator if it has one, else in the rank's.
int send_buffered(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to) noexcept;
int start_buffered_send(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to,
                        MPI_Request* request) noexcept;

/// Buffers of the rank (`comm` is null) or of a communicator. To detach and to flush waits for all messages to be sent.
int attach_buffer(rank_state& rank, communicator* comm, void* address, MPI_Count bytes) noexcept;
int detach_buffer(rank_state& rank, communicator* comm, void* address, int* bytes) noexcept;
int detach_buffer(rank_state& rank, communicator* comm, void* address, MPI_Count* bytes) noexcept;
int flush_buffer(rank_state& rank, communicator* comm) noexcept;
int start_flush_of_buffer(rank_state& rank, communicator* comm, MPI_Request* request) noexcept;

}  // namespace weft::mpi
