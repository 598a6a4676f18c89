// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives in one call (3.10). Arguments are checked by the callers, the entry points.
#pragma once

#include "mpi.h"
#include "mpi/message/point_to_point.hpp"

namespace weft::mpi {

struct sent_side {
  typed_bytes bytes;
  envelope to;
};
struct received_side {
  typed_buffer into;
  envelope from;
};

int send_and_receive(rank_state& rank, communicator& comm, const sent_side& sent, const received_side& received,
                     MPI_Status* status) noexcept;
int start_send_and_receive(rank_state& rank, communicator& comm, const sent_side& sent, const received_side& received,
                           MPI_Request* request) noexcept;

/// One buffer: the message that is received replaces the one that is sent, of which they send a copy.
int replace(rank_state& rank, communicator& comm, const typed_buffer& buffer, envelope to, envelope from,
            MPI_Status* status) noexcept;
int start_replace(rank_state& rank, communicator& comm, const typed_buffer& buffer, envelope to, envelope from,
                  MPI_Request* request) noexcept;

}  // namespace weft::mpi
