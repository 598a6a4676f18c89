// SPDX-License-Identifier: BSD-3-Clause
// What Weft's MPI is measured by, beside Weft's own calls and the other MPIs that are found.
#include <array>

#include "weft-perf/compare/compare.hpp"
#include "weft-perf/compare/suites.hpp"
#include "weft-perf/report/clock.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft-perf/report/machine.hpp"

namespace weft::perf {
namespace {

struct measured {
  const char* claim;
  kind metric;
  std::size_t bytes;
  std::uint32_t window;
  double ratio;  // to the best other MPI that is aimed at
};
constexpr std::array of_pairs{
    measured{"mpi_latency", kind::latency, 8, 1, 1},
    measured{"mpi_latency", kind::latency, 64, 1, 1},
    measured{"mpi_latency", kind::latency, 512, 1, 1},
    measured{"mpi_latency", kind::latency, kib, 1, 1},
    measured{"mpi_rate", kind::rate, 8, 64, 1.1},
    measured{"mpi_bandwidth", kind::bandwidth, 4 * kib, 64, 1},
    measured{"mpi_bandwidth", kind::bandwidth, 64 * kib, 64, 1},
    measured{"mpi_bandwidth", kind::bandwidth, mib, 16, 1.2},
    measured{"mpi_bandwidth", kind::bandwidth, 16 * mib, 2, 1.2},
};
constexpr std::array of_collectives{
    measured{"mpi_barrier", kind::barrier, 0, 1, 1.05},
    measured{"mpi_broadcast", kind::broadcast, 8, 1, 1.05},
    measured{"mpi_allreduce", kind::allreduce, 8, 1, 1.05},
    measured{"mpi_allreduce", kind::allreduce, mib, 1, 1.15},
};
constexpr std::array ranks_of_a_core{2U, 4U, 8U, 16U};
constexpr double times_of_own_latency = 1.2;
constexpr double ratio_of_crowded_ring = 2;

point point_of(const measured& row, double seconds) {
  return {.kind = row.metric,
          .operation = operation::sendrecv,
          .bytes = row.bytes,
          .window = row.window,
          .seconds = seconds,
          .claim_name = row.claim};
}

point together(const char* claim, kind metric, std::size_t bytes, std::uint32_t ranks, double seconds) {
  return {.kind = metric,
          .operation = operation::sendrecv,
          .bytes = bytes,
          .seconds = seconds,
          .uses_defaults = true,
          .group = {.ranks = ranks},
          .claim_name = claim};
}

// Vectors of doubles, every second one: a message at a time, and a window of them.
std::vector<point> vectors(double seconds) {
  std::vector<point> out;
  for (const std::size_t bytes : {64 * kib, mib}) {
    for (const std::uint32_t window : {1U, window_for(bytes)}) {
      out.push_back(point_of({"mpi_layout", kind::bandwidth, bytes, window, 1}, seconds));
      out.back().blocks = {.block_bytes = sizeof(double), .stride_bytes = 2 * sizeof(double)};
    }
  }
  return out;
}

double ratio_of(const point& asked) {
  for (const measured& each : of_pairs) {
    if (asked.claim_name == each.claim && asked.bytes == each.bytes) return each.ratio;
  }
  for (const measured& each : of_collectives) {
    if (asked.claim_name == each.claim && asked.bytes == each.bytes) return each.ratio;
  }
  if (asked.claim_name == "mpi_layout") return 1;
  return asked.kind == kind::ring && asked.group.ranks >= 4 * core_count() ? ratio_of_crowded_ring : 0;
}

}  // namespace

bool is_of_mpi(const point& asked) { return asked.claim_name.starts_with("mpi_"); }

goal aim_of_mpi(const point& asked) {
  goal out{.ratio = ratio_of(asked), .beside = std::string{own_weft}};
  if (asked.kind == kind::latency) out.times = times_of_own_latency;
  if (asked.blocks.block_bytes != 0) {
    out.beside = mpi_by_loops;
    out.times = 1;
  }
  return out;
}

std::vector<suite> mpi_suites(const options& chosen, double seconds) {
  std::vector<suite> out;
  const auto add = [&](std::vector<point> points, std::uint32_t rounds) {
    std::erase_if(points, [&](const point& asked) { return !is_wanted(chosen, asked.claim()); });
    if (points.empty()) return;
    const bool has_blocks = points.front().blocks.block_bytes != 0;
    const bool takes_all = points.front().takes_all_ranks();
    out.push_back({.points = std::move(points),
                   .rounds = rounds,
                   .has_blocks = has_blocks,
                   .takes_all_ranks = takes_all,
                   .of_mpi = true});
  };
  const std::uint32_t rounds = rounds_of(chosen);
  std::vector<point> pairs, collectives;
  for (const measured& each : of_pairs) pairs.push_back(point_of(each, seconds));
  add(std::move(pairs), rounds);
  add(vectors(seconds), rounds);
  for (const measured& each : of_collectives)
    collectives.push_back(together(each.claim, each.metric, each.bytes, 2, seconds / 5));
  add(std::move(collectives), rounds);
  // Each launch of so many ranks takes longer than what is measured.
  const std::uint32_t few = chosen.rounds != 0 ? chosen.rounds : 7;
  for (const std::uint32_t each : ranks_of_a_core)
    add({together("mpi_ring", kind::ring, 8, each * core_count(), seconds / 5)}, few);
  return out;
}

}  // namespace weft::perf
