// What a comparison measures: its points, in groups that are launched together.
#pragma once

#include <cstdint>
#include <vector>

#include "weft-perf/options.hpp"
#include "weft-perf/report/point.hpp"

namespace weft::perf {

/// Points that each contestant measures in one launch a round.
struct suite {
  std::vector<point> points;
  std::uint32_t rounds;
  bool alone = false;            ///< Weft against itself: a device shared by all threads against one for each
  bool has_blocks = false;       ///< messages whose bytes lie in blocks
  bool uses_defaults = false;    ///< programs that wait by default, as launchers start them
  bool takes_all_ranks = false;  ///< points of one number of ranks, which take part together
};

/// The suites that are wanted, `seconds` a point; none is empty. Says so where there is no network to measure over.
[[nodiscard]] std::vector<suite> suites_of(const options& chosen, double seconds);

}  // namespace weft::perf
