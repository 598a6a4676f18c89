// SPDX-License-Identifier: BSD-3-Clause
// The limits of the points of a comparison, measured once a round, under the labels of the points. The ranks that have
// a latency measure its limit themselves (bench.cpp).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft-perf/limits/handover.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft-perf/report/paths.hpp"
#include "weft-perf/report/point.hpp"
#include "weft-perf/report/rounds.hpp"

namespace weft::perf {

/// The name of the limit of messages by one path; nothing where nothing bounds them but the time of their steps.
[[nodiscard]] std::optional<std::string> limit_name_of(const point& measured, path taken);

/// The exchange that bounds a latency: its two sides can't exchange words faster. Nothing where several threads share
/// the cores, and over a network.
[[nodiscard]] std::optional<exchange> exchange_bounding(const point& measured);

class limit_rounds {
 public:
  void begin_round() { measured_.clear(); }
  /// Measures the limits of the paths that `measured` took, unless this round has measured them already.
  void measure(const point& measured, const path_mix& paths);
  void add(const std::string& name, std::size_t bytes, const sample& round) {
    samples_[{name, bytes}].push_back(round);
  }

  /// Of several paths, the fastest one's limit.
  void set_limit(const point& measured, figure& out, const handover_bounds& bounds) const;

 private:
  using key = std::pair<std::string, std::size_t>;

  std::map<key, std::vector<sample>> samples_;
  std::set<key> measured_;  // in this round
};

}  // namespace weft::perf
