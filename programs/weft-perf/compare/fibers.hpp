// SPDX-License-Identifier: BSD-3-Clause
// The parts of the subcommand `fibers`.
#pragma once

#include <cstdint>
#include <vector>

#include "weft-perf/options.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft/runtime.hpp"

namespace weft::perf {

[[nodiscard]] std::uint32_t fiber_rounds(const options& chosen);
[[nodiscard]] figure fiber_figure(const char* detail, std::uint32_t count, std::vector<double> rounds);

/// Messages between fibers of the two ranks of a job (Figures 5 and 6 of dang2016).
void run_fiber_messages(runtime& rt, const options& chosen, printer& out);

/// The same, started by this program, beside as many threads of Weft and of each MPI (Figure 5 with its peers).
void compare_fiber_messages(const options& chosen, printer& out);

}  // namespace weft::perf
