// SPDX-License-Identifier: BSD-3-Clause
// Points in which all ranks take part together: rings of messages and collectives, and how far Weft is to be ahead.
#include <algorithm>
#include <array>
#include <initializer_list>

#include "weft-perf/compare/compare.hpp"
#include "weft-perf/compare/suites.hpp"
#include "weft-perf/report/clock.hpp"

namespace weft::perf {
namespace {

constexpr const char* message_claim = "message";

constexpr std::array collectives{kind::barrier,   kind::broadcast, kind::reduce,        kind::allreduce,
                                 kind::allgather, kind::alltoall,  kind::reduce_scatter};

point point_of(kind metric, std::size_t bytes, std::uint32_t ranks, std::uint32_t threads, double seconds) {
  return {.kind = metric,
          .operation = operation::sendrecv,
          .mode = threads > 1 ? mode::threads_dedicated : mode::processes,
          .bytes = metric == kind::barrier ? 0 : bytes,
          .threads = threads,
          .seconds = seconds,
          .uses_defaults = true,
          .group = {.ranks = ranks}};
}

// What a collective of a few bytes is measured by: one message of Weft's, in the rounds of the collective.
point message(double seconds) {
  point out = point_of(kind::ring, 8, 2, 1, seconds);
  out.claim_name = message_claim;
  return out;
}

bool has_message_aim(const point& measured) { return aim_of(measured).messages > 0; }

// Without points there is no suite; a message is measured where a point is held against it.
void add(std::vector<suite>& to, const options& chosen, std::vector<point> points, double seconds) {
  std::erase_if(points, [&](const point& measured) { return !is_wanted(chosen, measured.claim()); });
  if (points.empty()) return;
  if (std::any_of(points.begin(), points.end(), has_message_aim)) points.push_back(message(seconds));
  to.push_back({.points = std::move(points), .rounds = rounds_of(chosen), .takes_all_ranks = true});
}

struct aimed {
  kind metric;
  std::size_t bytes;
  std::uint32_t threads;
  double of_2;  // the ratio aimed at with so many ranks; 0: none is
  double of_4;
  double of_8;
};
constexpr std::array aims{
    aimed{kind::barrier, 0, 1, 1.2, 1.3, 1.3},    aimed{kind::broadcast, 8, 1, 1.2, 1.3, 1.3},
    aimed{kind::allreduce, 8, 1, 1.2, 1.3, 1.3},  aimed{kind::broadcast, mib, 1, 1.2, 1.2, 0},
    aimed{kind::allreduce, mib, 1, 1.2, 1.2, 0},  aimed{kind::allgather, 64 * kib, 1, 1.2, 1.2, 0},
    aimed{kind::reduce_scatter, mib, 1, 1, 2, 0}, aimed{kind::alltoall, kib, 1, 1.1, 1.5, 0},
    aimed{kind::allreduce, 8, 4, 3, 0, 0},
};

double ratio_of(const aimed& each, std::uint32_t ranks) {
  return ranks == 2 ? each.of_2 : ranks == 4 ? each.of_4 : ranks == 8 ? each.of_8 : 0;
}

}  // namespace

goal aim_of(const point& measured) {
  if (is_of_mpi(measured)) return aim_of_mpi(measured);
  for (const aimed& each : aims) {
    if (each.metric != measured.kind || each.bytes != measured.bytes || each.threads != measured.threads) continue;
    const bool is_short = each.bytes <= 8 && measured.group.ranks == 2 && measured.threads == 1;
    return {.ratio = ratio_of(each, measured.group.ranks), .messages = is_short ? 2.0 : 0};
  }
  return {};
}

std::vector<suite> suites_of_all_ranks(const options& chosen, double seconds) {
  std::vector<suite> out;
  for (const std::uint32_t ranks : {2U, 3U, 4U, 8U, 16U}) {
    std::vector<point> points{point_of(kind::ring, 8, ranks, 1, seconds)};
    for (const aimed& each : aims) {
      if (each.threads == 1 && ratio_of(each, ranks) > 0)
        points.push_back(point_of(each.metric, each.bytes, ranks, 1, seconds));
    }
    if (ranks > 2) {
      points.push_back(point_of(kind::latency, 8, ranks, 1, 5 * seconds));
      points.back().mode = mode::threads_dedicated;
    }
    add(out, chosen, std::move(points), seconds);
  }
  std::vector<point> threaded;
  for (const std::uint32_t threads : {1U, 2U, 4U}) {
    threaded.push_back(point_of(kind::allreduce, 8, 2, threads, seconds));
    threaded.back().claim_name = "allreduce_threads";
  }
  add(out, chosen, std::move(threaded), seconds);
  return out;
}

std::vector<suite> collective_suites(const options& chosen, double seconds) {
  const auto given = [](const auto& list, auto usual) { return list.empty() ? usual : list; };
  const auto sizes =
      given(chosen.sizes, std::vector<std::size_t>{8, 64, kib, 4 * kib, 16 * kib, 64 * kib, 256 * kib, mib, 4 * mib});
  std::vector<suite> out;
  for (const std::uint32_t ranks : given(chosen.ranks, std::vector<std::uint32_t>{2, 4, 8})) {
    for (const std::uint32_t threads : given(chosen.threads, std::vector<std::uint32_t>{1})) {
      std::vector<point> points;
      for (const kind metric : collectives) {
        for (const std::size_t bytes : sizes) {
          points.push_back(point_of(metric, bytes, ranks, threads, seconds));
          if (metric == kind::barrier) break;
        }
      }
      // What the doubles of a reduction can't be divided into is left out.
      std::erase_if(points, [&](const point& measured) {
        const std::size_t parts = measured.kind == kind::reduce_scatter ? ranks : 1;
        return measured.reduces() && measured.bytes % (parts * sizeof(double)) != 0;
      });
      add(out, chosen, std::move(points), seconds);
    }
  }
  return out;
}

}  // namespace weft::perf
