// SPDX-License-Identifier: BSD-3-Clause
// The process between weft-run and the ranks. It is the ranks' parent and adopts what they leave behind, and it
// outlives weft-run by as long as it takes to end all of them, whatever weft-run died of. In turn the kernel kills the
// ranks if the guardian dies, and weft-run adopts the rest.
#pragma once

#include <vector>

#include "weft-run/descriptor.hpp"
#include "weft-run/processes.hpp"

namespace weft::run {

/// Starts the ranks, then serves `control` (orders in, events out) until none of them is left. `child_signals`
/// reports SIGCHLD, non-blocking. Runs in a fresh child of
/// weft-run with nothing else in it, and ends that process.
[[noreturn]] void run_guardian(const program_plan& plan, const binding& bind, std::vector<rank_ends> ends,
                               descriptor control, descriptor child_signals);

}  // namespace weft::run
