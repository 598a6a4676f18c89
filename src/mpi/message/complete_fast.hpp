// SPDX-License-Identifier: BSD-3-Clause
// The completion of a request that is done, has no error and owns nothing: 20 instructions, without a call. All others
// are for `complete`.
#pragma once

#include "mpi/objects/communicator.hpp"
#include "mpi/objects/request.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {

/// Writes the status, releases the request, and sets its handle to null. False: nothing has happened.
[[nodiscard]] inline bool try_complete(rank_state& rank, MPI_Request& handle, request& req,
                                       MPI_Status* status) noexcept {
  if (req.owned != nullptr || req.result.error != MPI_SUCCESS) [[unlikely]]
    return false;
  if (status != MPI_STATUS_IGNORE) write_status(status, req.result);
  if (&req != &rank.requests.sent()) {
    if (req.owner != nullptr) req.owner->remove_reference();
    rank.requests.release_unreferenced(rank.requests.own_cache(), req);
  }
  handle = MPI_REQUEST_NULL;
  return true;
}

}  // namespace weft::mpi
