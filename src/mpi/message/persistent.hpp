// SPDX-License-Identifier: BSD-3-Clause
// Persistent sends and receives (3.9), which MPI_Start starts. Arguments are checked by the callers, the entry points.
#pragma once

#include "mpi.h"
#include "mpi/message/point_to_point.hpp"

namespace weft::mpi {

int make_send(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to, MPI_Request* request,
              completion_level complete_at = completion_level::local) noexcept;
int make_buffered_send(rank_state& rank, communicator& comm, const typed_bytes& from, envelope to,
                       MPI_Request* request) noexcept;
int make_receive(rank_state& rank, communicator& comm, const typed_buffer& into, envelope from,
                 MPI_Request* request) noexcept;

}  // namespace weft::mpi
