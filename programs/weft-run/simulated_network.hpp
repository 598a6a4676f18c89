// SPDX-License-Identifier: BSD-3-Clause
// `weft-run --sim`: a simulated network between the ranks, which shows mistakes of order and of retries.
#pragma once

#include <cstdint>

#include "weft-run/options.hpp"

namespace weft::run {

/// Adds variables to what the ranks read: every transport of WEFT_TRANSPORT, by itself or from `-x`, is simulated, with
/// the seed of `--sim=SEED` or a drawn one. **Returns** the seed.
std::uint64_t simulate_network(options& chosen, std::uint64_t wished);

}  // namespace weft::run
