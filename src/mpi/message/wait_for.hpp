// SPDX-License-Identifier: BSD-3-Clause
// Waiting for a request of the calling function.
#pragma once

#include <span>

#include "mpi/objects/request.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/device.hpp"

namespace weft::mpi {

/// If the caller is a fiber that need not make progress itself: waits until the first of these requests has ended, or
/// the last, or one that has failed; null and inactive ones are left out. False: it has done nothing of that.
[[nodiscard]] bool wait_as_fiber(rank_state& rank, std::span<const MPI_Request> all, bool until_first,
                                 const char* function) noexcept;
[[nodiscard]] bool wait_as_fiber(rank_state& rank, request& req, const char* function) noexcept;

/// The rest of `wait_for`.
void wait_longer(rank_state& rank, request& req, const char* function, bool has_handle);

/// Makes progress until it is done; sleeps where nothing happens for long. `function`: of MPI, which waits; of static
/// storage. `has_handle`: a receive notes its envelope; else it has a communicator. **Errors**: `weft::error` inside a
/// handler.
inline void wait_for(rank_state& rank, request& req, const char* function, bool has_handle = false) {
  if (req.is_done()) return;
  (has_handle ? device_of(rank, req) : req.comm().route.device).progress();
  if (req.is_done()) [[likely]]
    return;
  wait_longer(rank, req, function, has_handle);
}

}  // namespace weft::mpi
