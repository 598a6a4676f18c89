// SPDX-License-Identifier: BSD-3-Clause
// The subcommand `resources`: the library's parts, against tables and queues of other libraries.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "weft-perf/commands.hpp"
#include "weft-perf/compare/compare.hpp"
#include "weft-perf/compare/launch.hpp"
#include "weft-perf/compare/peers.hpp"
#include "weft-perf/measure/components.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft-perf/report/machine.hpp"
#include "weft/error.hpp"

namespace weft::perf {
namespace {

struct component_point {
  std::string name;
  std::uint32_t threads;
};

// One and two, four and so on, as many as there are cores.
std::vector<std::uint32_t> all_threads(const options& chosen, bool quick) {
  if (!chosen.threads.empty()) return chosen.threads;
  std::vector<std::uint32_t> out{1};
  const std::uint32_t most = quick ? 2 : std::max(core_count(), 2U);
  for (std::uint32_t threads = 2; threads <= most; threads *= 2) out.push_back(threads);
  return out;
}

std::vector<component_point> points_of(const options& chosen, bool quick) {
  std::vector<component_point> out;
  for (const std::string& name : component_names()) {
    if (!is_wanted(chosen, name)) continue;
    for (const std::uint32_t threads : all_threads(chosen, quick)) out.push_back({name, threads});
  }
  return out;
}

figure figure_of(const component_point& component, const std::string& label, const std::vector<std::string>& absent) {
  figure out;
  out.claim = component.name;
  out.unit = "op/s";
  out.conditions.label = label;
  out.conditions.pinning = "core";
  out.threads = component.threads;
  out.more_is_better = true;
  out.absent = absent;
  return out;
}

}  // namespace

void print_resources(const options& chosen, printer& out, std::uint32_t rounds, double seconds, bool quick) {
  const std::vector<component_point> points = points_of(chosen, quick);
  if (points.empty()) return;
  const temporary_folder folder;
  std::set<std::string> claims;
  for (const component_point& component : points) claims.insert(component.name);
  component_peer_list peers = find_component_peers(chosen, folder.path(), claims);
  out.name_absent(peers.absent);
  for (const component_point& component : points) {
    std::map<std::string, std::vector<sample>> samples;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      samples["Weft"].push_back(measure_component(component.name, component.threads, seconds));
      for (const component_peer& peer : peers.present) {
        if (peer.claim == component.name)
          samples[peer.name].push_back(measure_component_peer(peer, component.threads, seconds));
      }
    }
    for (figure& each : compared(samples, figure_of(component, {}, peers.absent), chosen.bounds)) out.print(each);
  }
}

void run_resources(const options& chosen) {
  printer out{chosen.json, true};
  print_resources(chosen, out, chosen.rounds == 0 ? 7 : chosen.rounds, chosen.seconds / 4, false);
}

}  // namespace weft::perf
