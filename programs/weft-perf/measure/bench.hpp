// SPDX-License-Identifier: BSD-3-Clause
// Measures points with Weft itself.
#pragma once

#include "weft-perf/bench_options.hpp"
#include "weft-perf/measure/lane.hpp"
#include "weft-perf/measure/team.hpp"
#include "weft-perf/report/point.hpp"
#include "weft-perf/report/rounds.hpp"

namespace weft::perf {

/// One round of one point, the hand-over measured before and after. Collective; the result is at rank 0.
/// **Errors**: `transport_failed` where an operation failed or bytes were wrong.
[[nodiscard]] sample run_round(team& all, const point& measured, const bench_options& options);

/// Whether the hand-over can be measured. More than two plain ranks are in the way of the two that do it: they wait on
/// the same cores.
[[nodiscard]] bool can_tell_handover(const team& all, const point& measured);

/// One round of a point in which all ranks take part together, as `run_round`.
[[nodiscard]] sample run_together(team& all, const point& measured);

/// How threads are pinned, in a word.
[[nodiscard]] const char* pinning_of(const bench_options& options);

/// What one lane does in a round; both sides call it. Messages, and one-sided operations.
[[nodiscard]] lane_result measure_messages(lane& used, const point& measured);
[[nodiscard]] lane_result measure_put_get(lane& used, const point& measured);

}  // namespace weft::perf
