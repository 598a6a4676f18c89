// SPDX-License-Identifier: BSD-3-Clause
// The subcommand `limits`.
#include "weft-perf/limits/limits.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <functional>

#include "weft-perf/commands.hpp"
#include "weft-perf/limits/handover.hpp"
#include "weft-perf/report/clock.hpp"
#include "weft-perf/report/figures.hpp"

namespace weft::perf {
namespace {

struct limit {
  std::string name;
  std::string unit;
  std::size_t bytes;
  std::uint32_t threads;
  bool more_is_better;
  std::function<double()> measure;
};

std::vector<limit> all_limits(double seconds) {
  using namespace limits;
  std::vector<limit> out{
      {"handover", "ns", 64, 2, false, measure_handover_here},
      {"cells", "cell/s", 64, 2, true, [=] { return cell_stream(seconds); }},
      {name_of(exchange::two_lines), "ns", 64, 2, false, [] { return measure_here(exchange::two_lines); }},
      {name_of(exchange::two_rings), "ns", 64, 2, false, [] { return measure_here(exchange::two_rings); }},
      {"fetch_add", "op/s", 8, 1, true, [=] { return fetch_add(1, seconds); }},
      {"fetch_add", "op/s", 8, 2, true, [=] { return fetch_add(2, seconds); }},
  };
  for (const std::size_t bytes : {4 * kib, 64 * kib, 1024 * kib, 16 * 1024 * kib}) {
    out.push_back({"memcpy repeated", "B/s", bytes, 1, true, [=] { return copy(state::repeated, bytes, seconds); }});
    out.push_back({"memcpy fresh", "B/s", bytes, 1, true, [=] { return copy(state::fresh, bytes, seconds); }});
    out.push_back(
        {"memcpy just written", "B/s", bytes, 2, true, [=] { return copy(state::just_written, bytes, seconds); }});
    out.push_back({"packets", "B/s", bytes, 2, true, [=] { return copy_through_packets(bytes, seconds); }});
    out.push_back(
        {"cross-memory copy", "B/s", bytes, 1, true, [=] { return cross_memory_copy(false, bytes, seconds); }});
    out.push_back(
        {"cross-memory copy by both", "B/s", bytes, 2, true, [=] { return cross_memory_copy(true, bytes, seconds); }});
  }
  for (const std::size_t block : {std::size_t{8}, 4 * kib}) {
    const block_loops loops{.block_bytes = block, .stride_bytes = 2 * block};
    out.push_back({fmt::format("pack and unpack {} B of {} B", block, 2 * block), "B/s", 1024 * kib, 2, true,
                   [=] { return pack_and_unpack(loops, 1024 * kib, seconds); }});
    out.push_back({fmt::format("pack beside unpack {} B of {} B", block, 2 * block), "B/s", 1024 * kib, 2, true,
                   [=] { return pack_beside_unpack(loops, 1024 * kib, seconds); }});
  }
  out.push_back({"futex", "ns", 4, 2, false, [=] { return futex(seconds); }});
  out.push_back({"yield", "ns", 0, 2, false, [=] { return yield(seconds); }});
  return out;
}

}  // namespace

void run_limits(const options& chosen) {
  printer out{chosen.json, false};
  const std::uint32_t rounds = chosen.rounds == 0 ? 11 : chosen.rounds;
  for (const limit& each : all_limits(chosen.seconds / 5)) {
    std::vector<sample> samples;
    for (std::uint32_t i = 0; i < rounds; ++i) {
      sample taken;
      taken.before_ns = measure_handover_here();
      taken.value = each.measure();
      taken.after_ns = measure_handover_here();
      if (taken.value > 0) samples.push_back(taken);
    }
    if (samples.empty()) {
      fmt::print(stderr, "weft-perf: {} is not possible here\n", each.name);
      continue;
    }
    for (const labelled& group : by_label(samples, chosen.bounds)) {
      figure shown;
      shown.claim = "limit";
      shown.detail = each.name;
      shown.unit = each.unit;
      shown.conditions.label = group.label;
      shown.conditions.pinning = "core";
      shown.bytes = each.bytes;
      shown.threads = each.threads;
      shown.more_is_better = each.more_is_better;
      shown.weft = group.values();
      shown.bound_by(each.name, shown.weft);
      out.print(shown);
    }
  }
}

}  // namespace weft::perf
