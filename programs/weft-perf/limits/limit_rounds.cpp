// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/limits/limit_rounds.hpp"

#include <fmt/format.h>

#include "weft-perf/limits/handover.hpp"
#include "weft-perf/limits/limits.hpp"

namespace weft::perf {
namespace {

constexpr double round_seconds = 0.02;  // of a limit in a round

double measure_limit(const point& of, const std::string& name, std::size_t bytes) {
  if (of.blocks.block_bytes != 0) {
    return limits::pack_and_unpack({.block_bytes = of.blocks.block_bytes, .stride_bytes = of.blocks.stride_bytes},
                                   bytes, round_seconds);
  }
  if (name == "cells") return limits::cell_stream(round_seconds);
  if (name == "packets") return limits::copy_through_packets(bytes, round_seconds);
  if (name == "memcpy repeated") return limits::copy(limits::state::repeated, bytes, round_seconds);
  return limits::cross_memory_copy(name == "cross-memory copy by both", bytes, round_seconds);
}

template <class Visit>
void each_limit(const point& of, const path_mix& by, Visit&& visit) {
  if (of.threads > 1 || of.over_network()) return;
  for (std::size_t i = 0; i < path_count; ++i) {
    const auto each = static_cast<path>(i);
    if (!by.counts(each)) continue;
    if (const auto name = limit_name_of(of, each)) visit(*name, *name == "cells" ? 64 : of.bytes);
  }
}

}  // namespace

std::optional<std::string> limit_name_of(const point& of, path by) {
  if (of.kind == kind::rate || of.kind == kind::stream) {
    return by == path::cell ? std::optional<std::string>{"cells"} : std::nullopt;
  }
  if (of.kind != kind::bandwidth && of.kind != kind::put_rate) return std::nullopt;
  // By loops, or in blocks at one end alone, each end has more to do, or less.
  if (of.blocks.block_bytes != 0) {
    if (of.blocks.by_loops || of.blocks.at != strided::ends::both) return std::nullopt;
    return fmt::format("pack and unpack {}", of.blocks.text());
  }
  switch (by) {
    case path::packet:
      // An active message is read where it is.
      return of.kind == kind::bandwidth && of.operation == operation::am ? "memcpy repeated" : "packets";
    case path::many_packets: return "packets";
    case path::cross_memory: return "cross-memory copy";
    case path::cross_memory_shared: return "cross-memory copy by both";
    case path::mapped_memory: return "memcpy repeated";
    case path::cell:
    case path::libfabric: break;
  }
  return std::nullopt;
}

std::optional<exchange> exchange_bounding(const point& of) {
  if (of.threads > 1 || of.over_network()) return std::nullopt;
  if (of.kind == kind::latency) return exchange::two_rings;
  if (of.kind == kind::put_visible) return exchange::two_lines;
  return std::nullopt;
}

void limit_rounds::measure(const point& of, const path_mix& by) {
  each_limit(of, by, [&](const std::string& name, std::size_t bytes) {
    if (!measured_.insert({name, bytes}).second) return;
    sample one;
    one.before_ns = measure_handover_here();
    one.value = measure_limit(of, name, bytes);
    one.after_ns = measure_handover_here();
    if (one.value > 0) add(name, bytes, one);
  });
}

void limit_rounds::set_limit(const point& of, figure& in, const handover_bounds& bounds) const {
  if (const auto by = exchange_bounding(of)) return in.bound_by(name_of(*by), in.conditions.exchange_limit);
  each_limit(of, in.weft.paths, [&](const std::string& name, std::size_t bytes) {
    const auto found = samples_.find({name, bytes});
    if (found == samples_.end()) return;
    for (const labelled& group : by_label(found->second, bounds)) {
      const summary values = group.values();
      if (group.label == in.conditions.label && (!in.limit.best || values.max > *in.limit.best))
        in.bound_by(name, values);
    }
  });
}

}  // namespace weft::perf
