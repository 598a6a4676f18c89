// SPDX-License-Identifier: BSD-3-Clause
// weft-perf: measures Weft, the machine, and Weft against its peers.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <map>

#include "weft-perf/commands.hpp"
#include "weft-perf/report/machine.hpp"
#include "weft/error.hpp"

int main(int argc, char** argv) {
  using namespace weft::perf;
  static const std::map<std::string, void (*)(const options&)> commands{
      {"limits", run_limits},
      {"latency", run_measurements},
      {"rate", run_measurements},
      {"bandwidth", run_measurements},
      {"put", run_measurements},
      {"ring", run_measurements},
      {"points", run_points},
      {"resources", run_resources},
      {"compare", run_compare},
      {"wait", run_wait},
      {"attentiveness", run_attentiveness},
      {"collectives", run_collectives},
      {"reductions", run_reductions},
      {"hooks", run_hooks},
      {"fibers", run_fibers},
  };
  int exit_code = 0;
  try {
    const auto chosen = parse_options(argc, argv, exit_code);
    if (!chosen) return exit_code;
    (void)core_count();  // what may be used is what there is before anything is pinned
    commands.at(chosen->command)(*chosen);
    return 0;
  } catch (const weft::error& problem) {
    fmt::print(stderr, "weft-perf: {}\n", problem.what());
    return problem.code() == weft::errc::configuration || problem.code() == weft::errc::invalid_argument ? 2 : 1;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "weft-perf: {}\n", problem.what());
    return 1;
  }
}
