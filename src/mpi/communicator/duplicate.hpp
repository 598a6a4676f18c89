// MPI_Comm_dup and its like.
#pragma once

#include "mpi.h"
#include "mpi/communicator/agree.hpp"

namespace weft::mpi {

/// A new communicator of the same members, with the topology. `info` null: it is as ordered as the old one.
int duplicate(rank_state& rank, communicator& of, const message_assertions* info, MPI_Comm* out) noexcept;
/// The same without waiting: `out` may be used once the request is complete.
int start_duplicate(rank_state& rank, communicator& of, const message_assertions* info, MPI_Comm* out,
                    MPI_Request* request) noexcept;

}  // namespace weft::mpi
