// SPDX-License-Identifier: BSD-3-Clause
// weft-run -n N [options] program arguments..., and mpiexec, which is weft-run by another name.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/log.hpp"
#include "net/transport_list.hpp"
#include "weft-run/binding.hpp"
#include "weft-run/job.hpp"
#include "weft-run/launch.hpp"
#include "weft-run/mpi_library.hpp"
#include "weft-run/options.hpp"
#include "weft-run/simulated_network.hpp"
#include "weft/error.hpp"

namespace {

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

// The settings that ranks will read: weft-run's own environment, and variables of the command line.
weft::base::settings settings_of_ranks(const std::vector<std::string>& added) {
  std::vector<const char*> entries;
  for (char** own = environ; *own != nullptr; ++own) {
    const bool replaced = std::any_of(added.begin(), added.end(),
                                      [&](const std::string& each) { return name_of(each) == name_of(*own); });
    if (!replaced) entries.push_back(*own);
  }
  for (const std::string& each : added) entries.push_back(each.c_str());
  const std::string standard = std::string{"WEFT_STUCK_AFTER="} + weft::run::stuck_after;
  const bool is_set =
      std::any_of(entries.begin(), entries.end(), [&](const char* each) { return name_of(each) == name_of(standard); });
  if (!is_set) entries.push_back(standard.c_str());
  entries.push_back(nullptr);
  weft::base::settings out = weft::base::parse_settings(entries.data());
  weft::net::check_settings(out);
  return out;
}

// Reports a wrong setting once, and before there are ranks, which would each do so.
// **Returns** whether a rank writes reports.
bool check_settings(const weft::run::options& chosen) {
  static_cast<void>(weft::base::process_settings());
  bool may_report = false;
  std::set<std::string> foreign;
  for (const weft::run::program& each : chosen.programs) {
    std::vector<std::string> added = chosen.environment;
    std::erase_if(added, [&](const std::string& name) {
      return std::ranges::any_of(each.environment,
                                 [&](const std::string& other) { return name_of(name) == name_of(other); });
    });
    added.insert(added.end(), each.environment.begin(), each.environment.end());
    const weft::base::settings settings = settings_of_ranks(added);
    foreign.insert(settings.foreign_variables.begin(), settings.foreign_variables.end());
    may_report = may_report || settings.stuck_after_s > 0 || settings.print_counters;
  }
  for (const std::string& text : foreign) weft::base::log_warn("{}", text);
  return may_report;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace weft::run;
  int exit_code = 0;
  try {
    auto chosen = is_mpiexec(argv[0]) ? parse_mpiexec(argc, argv, exit_code) : parse_options(argc, argv, exit_code);
    if (!chosen) return exit_code;
    if (chosen->mpi) preload_mpi(*chosen);
    if (chosen->sim_seed) chosen->sim_seed = simulate_network(*chosen, *chosen->sim_seed);
    chosen->asks = check_settings(*chosen);
    const inherited_state inherited = prepare_process();
    const binding bind{chosen->bind, chosen->ranks};
    job ranks{*chosen, inherited, bind, argv};
    if (bind.is_crowded()) ranks.say("--bind: there are more ranks than objects, so some share theirs");
    if (chosen->sim_seed) ranks.say(fmt::format("a simulated network; --sim={} replays it", *chosen->sim_seed));
    return ranks.run();
  } catch (const weft::error& problem) {
    std::fprintf(stderr, "weft-run: %s\n", problem.what());
    return problem.code() == weft::errc::configuration ? exit_usage : exit_launcher;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "weft-run: %s\n", problem.what());
    return exit_launcher;
  }
}
