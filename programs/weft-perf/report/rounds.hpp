// SPDX-License-Identifier: BSD-3-Clause
// Summaries of many short rounds: a noisy machine is measured by median and quartiles, not by one long run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft-perf/report/paths.hpp"

namespace weft::perf {

struct summary {
  std::size_t rounds = 0;
  double min = 0;
  double q1 = 0;
  double median = 0;
  double q3 = 0;
  double max = 0;
};

/// Quartiles by linear interpolation between ranks. No values: all zeros.
[[nodiscard]] summary summarize(std::vector<double> values);

/// One round of one point.
struct sample {
  double value = 0;              ///< ns, messages per second or bytes per second, as the point's kind has it
  double before_ns = 0;          ///< hand-over of a cache line between the two sides before the round; 0: unknown
  double after_ns = 0;           ///< and after it
  double slowest_to_median = 1;  ///< the slowest thread's messages as a part of the median
  path_mix paths{};              ///< of Weft's messages
  double limit_ns = 0;           ///< of a latency, measured by its two sides; 0: not measured
  std::uint32_t round = 0;       ///< of the comparison
};

/// Where the states of two cores end, by the hand-over of a cache line. A machine that flips between 37 and 165 ns is
/// `fast` and `slow`; cores of two sockets are `far`. Each bound lies midway, by the ratio, between two such states.
struct handover_bounds {
  double fast_below_ns = 80;
  double slow_below_ns = 220;

  /// From this bound on, rounds are not told apart: the label is `any`, and no round is thrown away.
  static constexpr double all_fast_ns = 1e6;
};

/// The label of a round: `fast`, `slow` or `far` by the time of a hand-over; `mixed` where the two measurements differ,
/// which is to be thrown away; `unknown` where there are none.
[[nodiscard]] std::string label_of(const sample& round, const handover_bounds& bounds);

/// The slowest one's value as a part of the median; 1 for fewer than two.
[[nodiscard]] double slowest_to_median(std::vector<double> of_each);

/// The rounds of one label.
struct labelled {
  std::string label;
  std::vector<sample> rounds;

  [[nodiscard]] summary values() const;
  [[nodiscard]] summary handover() const;  ///< over both measurements of all rounds
  [[nodiscard]] double handover_ns() const { return handover().median; }
  [[nodiscard]] double slowest_to_median() const;  ///< median of the rounds
  [[nodiscard]] path_mix paths() const;            ///< mean of the rounds
  [[nodiscard]] summary limit() const;             ///< of a latency; no rounds: not measured
};

/// Groups rounds by label, in the order fast, slow, far, any, unknown; mixed rounds are left out.
[[nodiscard]] std::vector<labelled> by_label(const std::vector<sample>& rounds, const handover_bounds& bounds);

}  // namespace weft::perf
