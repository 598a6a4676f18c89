// SPDX-License-Identifier: BSD-3-Clause
// What Weft's MPI is measured by, beside Weft's own calls and the other MPIs that are found.
#include <fmt/format.h>

#include <array>
#include <utility>

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
    measured{"mpi_rate", kind::rate, 8, 64, 1.3},
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
// Programs that know no tricks: a communicator for each thread, and one for all.
constexpr std::array thread_counts{1U, 2U, 4U, 8U, 16U};
constexpr std::uint32_t default_window = 32;
constexpr std::array ranks_of_a_core{2U, 4U, 8U, 16U};
constexpr double times_of_own_latency = 1.2;
constexpr double times_of_own_default_latency = 1.25;
constexpr double part_of_own_rate = 0.8;
constexpr double part_of_own_default_rate = 0.7;

point point_of(const measured& row, double seconds) {
  // An engine of MPI's keeps messages in order.
  return {.kind = row.metric,
          .operation = row.metric == kind::rate ? operation::ordered : operation::sendrecv,
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

// All messages of threads that wait in MPI's calls, on whatever core the system gives them.
std::vector<point> threads_with_defaults(bool is_one, double seconds) {
  std::vector<point> out;
  for (const std::uint32_t threads : thread_counts) {
    if (threads == 1 && is_one) continue;
    for (const auto& [metric, window] : {std::pair{kind::latency, 1U}, std::pair{kind::rate, default_window}}) {
      out.push_back({.kind = metric,
                     .operation = operation::sendrecv,
                     .mode = mode::threads_dedicated,
                     .threads = threads,
                     .window = window,
                     .seconds = seconds,
                     .uses_defaults = true,
                     .group = {.has_one_communicator = is_one},
                     .claim_name = fmt::format("mpi_{}_{}", is_one ? "shared" : "plain", name_of(metric))});
    }
  }
  return out;
}

// How far Weft's MPI is to be ahead of the best other one.
double ratio_with_defaults(const point& asked) {
  if (asked.threads == 1) return 1.2;
  if (asked.kind == kind::rate) return asked.group.has_one_communicator ? (asked.threads >= 4 ? 3 : 1.2) : 4;
  if (asked.group.has_one_communicator) return asked.threads >= 4 ? 3 : 1.2;
  return asked.threads >= 8 ? 6 : 2;
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
  if (asked.mode == mode::threads_dedicated) return ratio_with_defaults(asked);
  return asked.group.ranks <= 2 ? 0 : asked.group.ranks <= 4 * core_count() ? 1.2 : 1;
}

}  // namespace

bool is_of_mpi(const point& asked) { return asked.claim_name.starts_with("mpi_"); }

goal aim_of_mpi(const point& asked) {
  goal out{.ratio = ratio_of(asked), .beside = std::string{own_weft}};
  if (asked.kind == kind::latency)
    out.times = asked.uses_defaults ? times_of_own_default_latency : times_of_own_latency;
  if (asked.kind == kind::rate) out.times = 1 / (asked.uses_defaults ? part_of_own_default_rate : part_of_own_rate);
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
    const bool takes_all = points.front().takes_all_ranks() || points.front().group.ranks > 2;
    const bool uses_defaults = points.front().uses_defaults && !takes_all;
    out.push_back({.points = std::move(points),
                   .rounds = rounds,
                   .has_blocks = has_blocks,
                   .uses_defaults = uses_defaults,
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
  for (const std::uint32_t each : ranks_of_a_core)
    add({together("mpi_latency_of_ranks", kind::latency, 8, each * core_count(), seconds)}, few);
  for (const bool is_one : {false, true}) add(threads_with_defaults(is_one, 2 * seconds), few);
  return out;
}

}  // namespace weft::perf
