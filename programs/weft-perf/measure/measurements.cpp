// SPDX-License-Identifier: BSD-3-Clause
// The subcommands that measure Weft alone.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "weft-perf/commands.hpp"
#include "weft-perf/limits/limit_rounds.hpp"
#include "weft-perf/measure/bench.hpp"
#include "weft-perf/report/clock.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft-perf/report/machine.hpp"

namespace weft::perf {
namespace {

std::vector<kind> kinds_of(const options& chosen) {
  if (chosen.command == "latency") return {kind::latency};
  if (chosen.command == "rate") return {chosen.stream ? kind::stream : kind::rate};
  if (chosen.command == "bandwidth") return {kind::bandwidth};
  if (chosen.command == "ring") return {kind::ring};
  return {kind::put, kind::put_visible, kind::put_rate, kind::get};
}

std::vector<std::size_t> sizes_of(const options& chosen, kind metric) {
  if (!chosen.sizes.empty()) return chosen.sizes;
  if (metric == kind::bandwidth || metric == kind::put_rate) return {4 * kib, 64 * kib, 1024 * kib, 16 * 1024 * kib};
  return {8};
}

std::vector<operation> operations_of(const options& chosen, kind metric) {
  if (metric == kind::stream) return {operation::am};
  if (metric != kind::latency && metric != kind::rate && metric != kind::bandwidth && metric != kind::ring)
    return {operation::am};
  if (chosen.operation) return {*chosen.operation};
  if (chosen.bench.blocks.block_bytes != 0) return {operation::sendrecv};
  return {operation::am, operation::sendrecv};
}

std::vector<std::uint32_t> windows_of(const options& chosen, kind metric, std::size_t bytes) {
  const bool windowed = metric == kind::rate || metric == kind::bandwidth || metric == kind::put_rate;
  if (!windowed) return {metric == kind::stream ? 0U : 1U};
  return chosen.windows.empty() ? std::vector{window_for(bytes)} : chosen.windows;
}

std::vector<point> points_of(const options& chosen, std::uint32_t ranks) {
  std::vector<point> out;
  const auto threads = chosen.threads.empty() ? std::vector<std::uint32_t>{1} : chosen.threads;
  for (const kind metric : kinds_of(chosen)) {
    for (const operation opcode : operations_of(chosen, metric)) {
      for (const std::size_t bytes : sizes_of(chosen, metric)) {
        // In `put`, what can't be told for a size is left out.
        if (metric == kind::put_visible && bytes % 8 != 0) continue;
        for (const std::uint32_t each : threads) {
          for (const std::uint32_t window : windows_of(chosen, metric, bytes)) {
            out.push_back({.kind = metric,
                           .operation = opcode,
                           .mode = chosen.mode,
                           .memory = chosen.command == "put" ? chosen.memory : memory::ordinary,
                           .bytes = bytes,
                           .threads = each,
                           .window = window,
                           .seconds = chosen.seconds,
                           .verify = chosen.verify,
                           .touch = chosen.touch && (metric == kind::put || metric == kind::get),
                           .piece_bytes = chosen.bench.piece_bytes,
                           .blocks = chosen.bench.blocks,
                           .uses_defaults = chosen.uses_defaults,
                           .group = {.ranks = ranks}});
          }
        }
      }
    }
  }
  return out;
}

const char* detail_of(const point& measured) {
  switch (measured.kind) {
    case kind::put: return measured.touch ? "origin, touched" : "origin";
    case kind::put_visible: return "visible";
    case kind::stream: return "stream";
    case kind::get: return measured.touch ? "touched" : "";
    case kind::put_rate: return "";
    default: break;
  }
  return measured.threads > 1 || measured.uses_defaults || measured.kind == kind::bandwidth
             ? name_of(measured.operation)
             : "";
}

std::string detail_of_bytes(const point& measured) {
  if (measured.blocks.block_bytes != 0)
    return fmt::format("{}, {}", name_of(measured.operation), measured.blocks.text());
  return measured.piece_bytes == 0
             ? detail_of(measured)
             : fmt::format("{}, pieces of {} B", name_of(measured.operation), measured.piece_bytes);
}

// A job in which points are measured.
struct job {
  std::string name;  // how long messages travel; empty: as it is set
  weft::runtime runtime;
  team all;

  job(const options& chosen, std::string called, const runtime_options& settings)
      : name{std::move(called)}, runtime{settings}, all{runtime, chosen.bench.pin == bench_options::pinning::core} {}
};

std::vector<std::unique_ptr<job>> make_jobs(const options& chosen) {
  std::vector<std::unique_ptr<job>> out;
  for (const long_messages protocol : chosen.bench.long_messages)
    out.push_back(std::make_unique<job>(chosen, weft::name_of(protocol), runtime_options{.long_messages = protocol}));
  if (out.empty()) out.push_back(std::make_unique<job>(chosen, "", runtime_options{}));
  return out;
}

std::string detail_of(const point& measured, const std::string& in_job) {
  std::string out = detail_of_bytes(measured);
  if (!in_job.empty()) out += (out.empty() ? "" : ", ") + in_job;
  return out;
}

figure figure_of(const point& measured, const std::string& in_job, const labelled& rounds, const options& chosen) {
  figure out;
  out.claim = measured.claim();
  out.detail = detail_of(measured, in_job);
  out.unit = measured.unit();
  out.mode = name_of(measured.mode);
  out.conditions.label = rounds.label;
  out.conditions.pinning = pinning_of(chosen.bench);
  out.bytes = measured.bytes;
  out.threads = measured.threads;
  out.window = measured.window;
  out.more_is_better = !measured.is_latency();
  if (measured.uses_defaults) out.settings = {{"ranks", measured.group.ranks}};
  out.weft.is_verified = measured.verify;
  out.weft = rounds.values();
  out.weft.slowest_to_median = rounds.slowest_to_median();
  out.conditions.handover = rounds.handover();
  out.weft.paths = rounds.paths();
  out.conditions.exchange_limit = rounds.limit();
  const bool by_network = out.weft.paths.are_known() && out.weft.paths.main() == path::libfabric;
  if (const auto bound = exchange_bounding(measured); bound && !by_network)
    out.bound_by(name_of(*bound), out.conditions.exchange_limit);
  return out;
}

}  // namespace

void run_measurements(const options& chosen) {
  const std::vector<std::unique_ptr<job>> jobs = make_jobs(chosen);
  weft::runtime& rt = jobs.front()->runtime;
  const bool waits_by_default = chosen.uses_defaults && chosen.threads.empty();
  if (chosen.mode != mode::processes && rt.size() != 2 && !waits_by_default) {
    throw error{errc::invalid_argument, "threads are measured between two ranks, as in: weft-run -n 2 weft-perf"};
  }
  printer out{chosen.json, false};
  const std::uint32_t rounds = chosen.rounds == 0 ? 11 : chosen.rounds;
  for (const point& each : points_of(chosen, rt.size())) {
    std::vector<std::vector<sample>> samples(jobs.size());
    for (std::uint32_t i = 0; i < rounds; ++i) {
      for (std::size_t k = 0; k < jobs.size(); ++k) samples[k].push_back(run_round(jobs[k]->all, each, chosen.bench));
    }
    if (rt.rank() != 0) continue;
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      const std::vector<labelled> groups = by_label(samples[k], chosen.bounds);
      if (groups.empty()) {
        fmt::print(stderr, "weft-perf: {}: the machine changed its state in each of {} rounds; try more rounds\n",
                   each.claim(), rounds);
      }
      for (const labelled& group : groups) out.print(figure_of(each, jobs[k]->name, group, chosen));
    }
  }
  out.name_wrong_limits();
  for (const auto& each : jobs) each->runtime.barrier();
}

void run_points(const options& chosen) {
  weft::runtime rt;
  team all{rt, chosen.bench.pin == bench_options::pinning::core};
  for (std::size_t i = 0; i < chosen.points.size(); ++i) {
    const sample taken = run_round(all, point::parse(chosen.points[i]), chosen.bench);
    if (rt.rank() != 0) continue;
    fmt::print("sample {} {:.6g} {:.4g} {:.4g} {:.4g} limit={:.4g} {}\n", i, taken.value, taken.before_ns,
               taken.after_ns, taken.slowest_to_median, taken.limit_ns, taken.paths.wire_text());
    std::fflush(stdout);
  }
  rt.barrier();
}

}  // namespace weft::perf
