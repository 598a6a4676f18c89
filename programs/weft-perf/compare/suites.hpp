// SPDX-License-Identifier: BSD-3-Clause
// What a comparison measures: its points, in groups that are launched together.
#pragma once

#include <cstdint>
#include <vector>

#include "weft-perf/options.hpp"
#include "weft-perf/report/goal.hpp"
#include "weft-perf/report/point.hpp"

namespace weft::perf {

/// Points that each contestant measures in one launch a round.
struct suite {
  std::vector<point> points;
  std::uint32_t rounds;
  bool alone = false;            ///< Weft against itself: a device shared by all threads against one for each
  bool has_blocks = false;       ///< messages whose bytes lie in blocks
  bool uses_defaults = false;    ///< programs that wait by default, as launchers start them
  bool takes_all_ranks = false;  ///< points of one number of ranks, which take part together, or are more than two
  bool of_mpi = false;           ///< Weft's MPI takes Weft's part; Weft's own calls stand beside it
};

/// Rings, and the collectives that have an aim, of `compare`; all collectives and sizes, of `collectives`. Claims that
/// are wanted alone; `seconds` a point.
[[nodiscard]] std::vector<suite> suites_of_all_ranks(const options& chosen, double seconds);
[[nodiscard]] std::vector<suite> collective_suites(const options& chosen, double seconds);

/// What Weft's MPI is measured by; none where no such claim is wanted. Their points, and their aims.
[[nodiscard]] std::vector<suite> mpi_suites(const options& chosen, double seconds);
[[nodiscard]] bool is_of_mpi(const point& measured);
[[nodiscard]] goal aim_of_mpi(const point& measured);

/// How far Weft is to be ahead of its peers in a point; zeros: as far as it gets.
[[nodiscard]] goal aim_of(const point& measured);

/// The suites that are wanted, `seconds` a point; none is empty. Says so where there is no network to measure over.
[[nodiscard]] std::vector<suite> suites_of(const options& chosen, double seconds);

}  // namespace weft::perf
