// SPDX-License-Identifier: BSD-3-Clause
// Functions of requests other than waiting and testing. Arguments are checked by the callers, the entry points.
#pragma once

#include "mpi.h"
#include "mpi/objects/request.hpp"

namespace weft::mpi {

/// Completes a request that is done, but for its status; any other one is released once it is done.
int free_request(rank_state& rank, MPI_Request* handle) noexcept;
/// Cancels a receive. A send is not cancelled, as the standard allows (3.8.4).
int cancel_request(rank_state& rank, MPI_Request* handle) noexcept;
/// MPIX_Request_is_complete: 1 if the request is null, inactive or complete, else 0; without progress. **Errors**:
/// those of the error handler.
int is_complete(MPI_Request handle);
int start_request(rank_state& rank, MPI_Request* handle) noexcept;
int start_requests(rank_state& rank, int count, MPI_Request* all) noexcept;

}  // namespace weft::mpi
