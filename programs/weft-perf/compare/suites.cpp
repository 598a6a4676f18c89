// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/compare/suites.hpp"

#include "weft-perf/compare/compare.hpp"
#include "weft-perf/compare/peers.hpp"
#include "weft-perf/report/clock.hpp"

namespace weft::perf {
namespace {

// The points of one thread and those of many are launched apart: an MPI library is faster where it need not lock.

std::vector<point> one_thread(const options& chosen, double seconds) {
  std::vector<point> out;
  const auto add = [&](kind metric, operation opcode, std::size_t bytes, std::uint32_t window, memory where) {
    out.push_back({.kind = metric,
                   .operation = opcode,
                   .mode = mode::processes,
                   .memory = where,
                   .bytes = bytes,
                   .window = window,
                   .seconds = seconds});
  };
  const std::vector<std::size_t> small =
      chosen.quick ? std::vector<std::size_t>{8} : std::vector<std::size_t>{8, 64, 512, 4 * kib, 64 * kib};
  for (const std::size_t bytes : small) {
    for (const operation opcode : {operation::am, operation::sendrecv})
      add(kind::latency, opcode, bytes, 1, memory::ordinary);
  }
  add(kind::latency, operation::ordered, 8, 1, memory::ordinary);
  add(kind::stream, operation::am, 8, 0, memory::ordinary);
  add(kind::rate, operation::sendrecv, 8, 64, memory::ordinary);
  for (const std::size_t bytes : {4 * kib, 64 * kib, 1024 * kib, 16 * 1024 * kib}) {
    add(kind::bandwidth, operation::sendrecv, bytes, window_for(bytes), memory::ordinary);
    if (!chosen.quick) add(kind::put_rate, operation::am, bytes, window_for(bytes), memory::weft);
  }
  // Sizes at which the way of long messages differs from machine to machine.
  for (const std::size_t bytes : {16 * kib, 256 * kib})
    if (!chosen.quick) add(kind::bandwidth, operation::sendrecv, bytes, window_for(bytes), memory::ordinary);
  add(kind::put, operation::am, 8, 1, memory::weft);
  add(kind::put_visible, operation::am, 8, 1, memory::weft);
  if (!chosen.quick) add(kind::get, operation::am, 8, 1, memory::weft);
  return out;
}

std::vector<point> many_threads(const options& chosen, double seconds) {
  std::vector<point> out;
  const std::vector<std::uint32_t> counts =
      chosen.quick ? std::vector<std::uint32_t>{4, 16} : std::vector<std::uint32_t>{2, 4, 8, 16};
  std::vector<mode> modes{mode::threads_dedicated};
  if (!chosen.quick) modes.push_back(mode::threads_shared);
  for (const mode thread_mode : modes) {
    for (const std::uint32_t threads : counts) {
      const auto add = [&](kind metric, std::uint32_t window) {
        out.push_back({.kind = metric,
                       .operation = operation::sendrecv,
                       .mode = thread_mode,
                       .threads = threads,
                       .window = window,
                       .seconds = seconds});
      };
      add(kind::latency, 1);
      for (const std::uint32_t window : {1U, 32U}) add(kind::rate, window);
    }
  }
  return out;
}

// What a program gets that knows no tricks.
std::vector<point> programs_with_defaults(const options& chosen, double seconds) {
  std::vector<point> out;
  const std::vector<std::uint32_t> counts =
      chosen.quick ? std::vector<std::uint32_t>{2, 16} : std::vector<std::uint32_t>{1, 2, 4, 8, 16};
  for (const std::uint32_t threads : counts) {
    for (const auto& [metric, window] : {std::pair{kind::latency, 1U}, std::pair{kind::rate, 32U}}) {
      out.push_back({.kind = metric,
                     .operation = operation::sendrecv,
                     .mode = mode::threads_dedicated,
                     .threads = threads,
                     .window = window,
                     .seconds = seconds,
                     .uses_defaults = true});
    }
  }
  return out;
}

// 1 MiB whose bytes lie in blocks at both ends: to and fro, one message at a time, and a window of them.
std::vector<point> in_blocks(double seconds) {
  std::vector<point> out;
  for (const std::size_t block : {std::size_t{8}, 4 * kib}) {
    const auto add = [&](const char* claim, kind metric, std::uint32_t window) {
      out.push_back({.kind = metric,
                     .operation = operation::sendrecv,
                     .bytes = 1024 * kib,
                     .window = window,
                     .seconds = seconds,
                     .blocks = {.block_bytes = block, .stride_bytes = 2 * block},
                     .claim_name = claim});
    };
    add("layout_latency", kind::latency, 1);
    for (const std::uint32_t window : {1U, window_for(1024 * kib)}) add("layout_bandwidth", kind::bandwidth, window);
  }
  return out;
}

// Eight bytes to and fro, and in windows, between two processes of this machine over TCP.
std::vector<point> over_network(const options& chosen, double seconds) {
  std::vector<point> out;
  const auto add = [&](const char* claim, kind metric, std::uint32_t window) {
    for (const operation opcode : {operation::am, operation::sendrecv}) {
      out.push_back({.kind = metric, .operation = opcode, .window = window, .seconds = seconds, .claim_name = claim});
    }
  };
  if (is_wanted(chosen, "net_latency")) add("net_latency", kind::latency, 1);
  if (is_wanted(chosen, "net_rate")) add("net_rate", kind::rate, 64);
  if (out.empty()) return out;
  const std::string provider = find_network_provider();
  if (provider.empty()) return {};
  for (point& each : out) each.provider = provider;
  return out;
}

// Two threads of each process on one device; `weft_dedicated` measures the same with a device for each.
std::vector<point> on_shared_device(double seconds) {
  std::vector<point> out;
  for (const operation opcode : {operation::am, operation::sendrecv}) {
    out.push_back({.kind = kind::rate,
                   .operation = opcode,
                   .mode = mode::threads_shared,
                   .threads = 2,
                   .window = 32,
                   .seconds = seconds,
                   .claim_name = "shared_device"});
  }
  return out;
}

}  // namespace

std::vector<suite> suites_of(const options& chosen, double seconds) {
  // Long enough that the system gives a core to each of the threads in turn, several times over.
  const double crowded = (chosen.quick ? 4 : 2) * seconds;
  const std::uint32_t rounds = rounds_of(chosen);
  // Half the time of a comparison goes to threads that wait in MPI's calls for others of their core.
  const std::uint32_t crowded_rounds = chosen.quick && chosen.rounds == 0 ? 5 : rounds;
  std::vector<suite> out{
      {.points = one_thread(chosen, seconds), .rounds = rounds},
      {.points = many_threads(chosen, crowded), .rounds = crowded_rounds},
      {.points = on_shared_device(crowded), .rounds = rounds, .alone = true},
      {.points = in_blocks(seconds), .rounds = rounds, .has_blocks = true},
      {.points = programs_with_defaults(chosen, crowded), .rounds = crowded_rounds, .uses_defaults = true},
      {.points = over_network(chosen, seconds), .rounds = rounds}};
  for (suite& each : out) {
    std::erase_if(each.points, [&](const point& measured) { return !is_wanted(chosen, measured.claim()); });
  }
  for (const suite& each : suites_of_all_ranks(chosen, seconds / 5)) out.push_back(each);
  for (const suite& each : mpi_suites(chosen, seconds)) out.push_back(each);
  std::erase_if(out, [](const suite& each) { return each.points.empty(); });
  return out;
}

}  // namespace weft::perf
