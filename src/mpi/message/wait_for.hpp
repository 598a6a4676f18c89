// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a request of the calling function.
#pragma once

#include "mpi/objects/request.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/device.hpp"

namespace weft::mpi {

/// The rest of `wait_for`.
void wait_longer(rank_state& rank, const request& req, const char* function, bool has_handle);

/// Makes progress until it is done; sleeps where nothing happens for long. `function`: of MPI, which waits; of static
/// storage. `has_handle`: a receive notes its envelope. **Errors**: `weft::error` inside a handler.
inline void wait_for(rank_state& rank, const request& req, const char* function, bool has_handle = false) {
  if (req.is_done()) return;
  rank.device.progress();
  if (req.is_done()) [[likely]]
    return;
  wait_longer(rank, req, function, has_handle);
}

}  // namespace weft::mpi
