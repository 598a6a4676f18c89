// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives. Arguments are checked by the callers, the entry points.
#pragma once

#include "mpi.h"
#include "mpi/message/post.hpp"
#include "mpi/message/typed_buffer.hpp"

namespace weft::mpi {

struct communicator;
struct rank_state;

/// `complete_at`: `when_matched` makes it a synchronous send.
int send(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to,
         completion_level complete_at = completion_level::local) noexcept;
int receive(rank_state& rank, communicator& comm, const typed_buffer& into, envelope from, MPI_Status* status) noexcept;
/// `request` is given also where the operation is complete already.
int start_send(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to, MPI_Request* request,
               completion_level complete_at = completion_level::local) noexcept;
int start_receive(rank_state& rank, communicator& comm, const typed_buffer& into, envelope from,
                  MPI_Request* request) noexcept;

}  // namespace weft::mpi
