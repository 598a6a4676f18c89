// SPDX-License-Identifier: BSD-3-Clause
// Rounds of several contestants, side by side.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weft-perf/options.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft-perf/report/rounds.hpp"

namespace weft::perf {

/// One figure for each label under which Weft was measured: `like` with the values of Weft and of those peers that
/// were measured under this label. `samples` are by name; Weft's is `Weft`.
[[nodiscard]] std::vector<figure> compared(const std::map<std::string, std::vector<sample>>& samples,
                                           const figure& like, const handover_bounds& bounds);

/// Whether a claim is to be measured: `--claims` names them, or all.
[[nodiscard]] bool is_wanted(const options& chosen, const std::string& claim);

/// The number of `--rounds`, or else of `--quick` or of a whole comparison.
[[nodiscard]] std::uint32_t rounds_of(const options& chosen);

/// Packet pool, matching, queue and, unless `quick`, array: each with one thread and two.
void print_resources(const options& chosen, printer& out, std::uint32_t rounds, double seconds, bool quick);

}  // namespace weft::perf
