// SPDX-License-Identifier: BSD-3-Clause
// The command line of weft-perf.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft-perf/bench_options.hpp"
#include "weft-perf/report/point.hpp"
#include "weft-perf/report/rounds.hpp"
#include "weft/progress_policy.hpp"

namespace weft::perf {

/// Of the subcommand `fibers`.
struct fiber_options {
  std::vector<std::uint64_t> writes;   ///< to random places, before each message
  std::vector<std::uint32_t> workers;  ///< of each rank; 0: one for each of its cores
  bool progress_thread = false;        ///< it makes progress instead of the workers
  std::vector<std::uint32_t> counts;   ///< of fibers of each rank; empty: as the command has it
};

struct options {
  std::string command;
  std::vector<std::size_t> sizes;      ///< empty: the command's own
  std::vector<std::uint32_t> threads;  ///< each gives figures of its own
  std::vector<std::uint32_t> windows;
  std::optional<perf::operation> operation;  ///< nothing: both
  perf::mode mode = mode::processes;
  perf::memory memory = memory::weft;
  double seconds = 0.1;      ///< of a round
  std::uint32_t rounds = 0;  ///< 0: as many as the command has
  bool stream = false;
  bool touch = false;
  bool uses_defaults = false;  ///< threads wait by `device::wait` (`--plain`); of `latency` and `rate`
  bool verify = false;
  bool json = false;
  bool quick = false;
  handover_bounds bounds;
  fiber_options fibers;
  std::vector<std::uint32_t> devices;     ///< of `attentiveness`; empty: as the command has it
  std::vector<progress_policy> policies;  ///< of `attentiveness`; empty: all
  double task_us = 1000;                  ///< of `attentiveness`
  double handler_us = 0;                  ///< of `attentiveness`
  bench_options bench;
  std::vector<std::string> points;      ///< of the command `points`
  std::vector<std::string> mpi;         ///< NAME=mpicc:mpiexec
  std::vector<std::string> claims;      ///< of `compare` and `collectives`: these alone; empty: all
  std::vector<std::uint32_t> ranks;     ///< of `collectives`; empty: as the command has it
  std::vector<std::string> algorithms;  ///< of `collectives`, each beside the one that Weft chooses; `all`: every one
  std::string peers_folder;
};

/// Nothing: the answer has been given already, and `exit_code` is what the program ends with. Sets what transports
/// read from the environment.
[[nodiscard]] std::optional<options> parse_options(int argc, char** argv, int& exit_code);

}  // namespace weft::perf
