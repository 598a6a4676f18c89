// SPDX-License-Identifier: BSD-3-Clause
// Functions of requests other than waiting and testing. Arguments are checked by the callers, the entry points.
#pragma once

#include "mpi.h"
#include "mpi/objects/request.hpp"

namespace weft::mpi {

int free_request(rank_state& rank, MPI_Request* handle) noexcept;
/// Cancels a receive. A send is not cancelled, as the standard allows (3.8.4).
int cancel_request(rank_state& rank, MPI_Request* handle) noexcept;
int start_request(rank_state& rank, MPI_Request* handle) noexcept;
int start_requests(rank_state& rank, int count, MPI_Request* all) noexcept;

}  // namespace weft::mpi
