// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/limits/limit_rounds.hpp"

#include <fmt/format.h>

#include "weft-perf/limits/handover.hpp"
#include "weft-perf/limits/limits.hpp"

namespace weft::perf {
namespace {

constexpr double round_seconds = 0.02;  // of a limit in a round

double measure_limit(const point& measured, const std::string& name, std::size_t bytes) {
  if (measured.blocks.block_bytes != 0) {
    return limits::pack_and_unpack(
        {.block_bytes = measured.blocks.block_bytes, .stride_bytes = measured.blocks.stride_bytes}, bytes,
        round_seconds);
  }
  if (name == "cells") return limits::cell_stream(round_seconds);
  if (name == "packets") return limits::copy_through_packets(bytes, round_seconds);
  if (name == "memcpy repeated") return limits::copy(limits::state::repeated, bytes, round_seconds);
  return limits::cross_memory_copy(name == "cross-memory copy by both", bytes, round_seconds);
}

template <class Visit>
void each_limit(const point& measured, const path_mix& paths, Visit&& visit) {
  if (measured.threads > 1 || measured.over_network()) return;
  for (std::size_t i = 0; i < path_count; ++i) {
    const auto each = static_cast<path>(i);
    if (!paths.counts(each)) continue;
    if (const auto name = limit_name_of(measured, each)) visit(*name, *name == "cells" ? 64 : measured.bytes);
  }
}

}  // namespace

std::optional<std::string> limit_name_of(const point& measured, path taken) {
  if (measured.kind == kind::rate || measured.kind == kind::stream) {
    return taken == path::cell ? std::optional<std::string>{"cells"} : std::nullopt;
  }
  if (measured.kind != kind::bandwidth && measured.kind != kind::put_rate) return std::nullopt;
  // By loops, or in blocks at one end alone, each end has more to do, or less.
  if (measured.blocks.block_bytes != 0) {
    if (measured.blocks.by_loops || measured.blocks.packed_ends != strided::ends::both) return std::nullopt;
    return fmt::format("pack and unpack {}", measured.blocks.text());
  }
  switch (taken) {
    case path::packet:
      // An active message is read where it is.
      return measured.kind == kind::bandwidth && measured.operation == operation::am ? "memcpy repeated" : "packets";
    case path::many_packets: return "packets";
    case path::cross_memory: return "cross-memory copy";
    case path::cross_memory_shared: return "cross-memory copy by both";
    case path::mapped_memory: return "memcpy repeated";
    case path::cell:
    case path::libfabric: break;
  }
  return std::nullopt;
}

std::optional<exchange> exchange_bounding(const point& measured) {
  if (measured.threads > 1 || measured.over_network()) return std::nullopt;
  if (measured.kind == kind::latency) return exchange::two_rings;
  if (measured.kind == kind::put_visible) return exchange::two_lines;
  return std::nullopt;
}

void limit_rounds::measure(const point& measured, const path_mix& paths) {
  each_limit(measured, paths, [&](const std::string& name, std::size_t bytes) {
    if (!measured_.insert({name, bytes}).second) return;
    sample taken;
    taken.before_ns = measure_handover_here();
    taken.value = measure_limit(measured, name, bytes);
    taken.after_ns = measure_handover_here();
    if (taken.value > 0) add(name, bytes, taken);
  });
}

void limit_rounds::set_limit(const point& measured, figure& out, const handover_bounds& bounds) const {
  if (const auto bound = exchange_bounding(measured))
    return out.bound_by(name_of(*bound), out.conditions.exchange_limit);
  each_limit(measured, out.weft.paths, [&](const std::string& name, std::size_t bytes) {
    const auto found = samples_.find({name, bytes});
    if (found == samples_.end()) return;
    for (const labelled& group : by_label(found->second, bounds)) {
      const summary values = group.values();
      if (group.label == out.conditions.label && (!out.limit.best || values.max > *out.limit.best))
        out.bound_by(name, values);
    }
  });
}

}  // namespace weft::perf
