// Waiting for a request of the calling function.
#pragma once

#include "mpi/objects/rank_state.hpp"
#include "mpi/objects/request.hpp"
#include "weft/device.hpp"

namespace weft::mpi {

/// Makes progress until it is done; sleeps where nothing happens for long. **Errors**: `weft::error` inside a handler.
inline void wait_for(rank_state& rank, const request& one) {
  if (one.is_done()) return;
  rank.device.progress();
  if (one.is_done()) return;
  rank.device.wait(rank.signals, [&one] { return one.is_done(); });
}

}  // namespace weft::mpi
