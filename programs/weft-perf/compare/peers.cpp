// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/compare/peers.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "weft-perf/limits/handover.hpp"
#include "weft-perf/measure/bench.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft-perf/report/machine.hpp"
#include "weft/error.hpp"

namespace weft::perf {
namespace {

// Each is one of some operations; the others refuse it.
constexpr std::array collective_algorithms{
    "dissemination", "tree",         "binomial",           "k-nomial", "scatter-allgather", "chain",
    "linear",        "rabenseifner", "recursive-doubling", "ring",     "pairwise",          "recursive-halving",
    "bruck",         "two-level"};
constexpr double component_limit_s = 120;
constexpr std::string_view limit_word = "limit=";

struct component_source {
  std::string name;
  std::string claim;
  std::string file;
  std::string define;
  std::vector<std::string> libraries;
};

std::vector<component_source> component_sources() {
  return {
      {"oneTBB concurrent_hash_map", "matching", "components.cpp", "-DPEER_TBB", {"-ltbb"}},
      {"libcuckoo", "matching", "components.cpp", "-DPEER_CUCKOO", {}},
      {"Boost.Lockfree", "queue", "components.cpp", "-DPEER_BOOST", {}},
      {"Boost.Lockfree stack", "pool", "components.cpp", "-DPEER_BOOST_STACK", {}},
      {"Boost.Lockfree queue", "pool", "components.cpp", "-DPEER_BOOST_LIST", {}},
      {"moodycamel", "queue", "components.cpp", "-DPEER_MOODYCAMEL", {}},
      {"Boost.Fiber", "fibers", "fibers.cpp", "-DPEER_BOOST", {"-lboost_fiber", "-lboost_context"}},
  };
}

std::vector<std::string> points_command(std::uint32_t ranks = 2) {
  const std::string folder = program_folder();
  return {folder + "/weft-run", "-n", std::to_string(ranks), folder + "/weft-perf", "points"};
}

variables transport_by(const std::string& provider) {
  if (provider.empty()) return {};
  return {{"WEFT_TRANSPORT", "ofi"}, {"WEFT_OFI_PROVIDER", provider}};
}

round_result run_weft(const char* pin, const std::vector<point>& points, const char* bind = "auto",
                      const variables& more = {}) {
  std::vector<std::string> command = points_command(points.front().group.ranks);
  command.insert(command.begin() + 1, {"--bind", bind});
  command.insert(command.end(), {"--pin", points.front().uses_defaults ? "none" : pin});
  double seconds = hang_limit_s;
  for (const point& each : points) {
    command.push_back(each.text());
    seconds += 20 * each.seconds + (each.takes_all_ranks() ? 5 : 0);
  }
  variables environment = transport_by(points.front().provider);
  environment.insert(more.begin(), more.end());
  const launched result = run_program(command, seconds, environment);
  if (result.exit_code != 0) throw error{errc::transport_failed, "Weft: " + result.why_it_failed(seconds)};
  return parse_samples(result.output, points.size());
}

}  // namespace

round_result parse_samples(const std::string& output, std::size_t points) {
  round_result out(points);
  std::istringstream lines{output};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    std::string first;
    std::size_t index = 0;
    sample parsed;
    if (!(words >> first >> index >> parsed.value >> parsed.before_ns >> parsed.after_ns >> parsed.slowest_to_median))
      continue;
    // Weft's own ranks also say what bounds the value, and by which paths their messages went.
    std::string more;
    std::getline(words >> std::ws, more);
    if (more.starts_with(limit_word)) {
      char* end = nullptr;
      parsed.limit_ns = std::strtod(more.c_str() + limit_word.size(), &end);
      more.erase(0, more.find_first_not_of(' ', static_cast<std::size_t>(end - more.c_str())));
    }
    parsed.paths = path_mix::parse(more);
    if (first == "sample" && index < points && parsed.value > 0) out[index] = parsed;
  }
  return out;
}

std::string peer_source(const options& chosen, const std::string& file) {
  const std::string folder =
      chosen.peers_folder.empty() ? program_folder() + "/../share/weft/perf" : chosen.peers_folder;
  const std::string path = folder + "/" + file;
  if (access(path.c_str(), R_OK) != 0) {
    throw error{errc::configuration, fmt::format("{} can't be read; --peers names the folder of these sources", path)};
  }
  return path;
}

contestant weft_itself(const options& chosen) {
  return {"Weft", [pin = pinning_of(chosen.bench)](const std::vector<point>& points) { return run_weft(pin, points); }};
}

contestant weft_dedicated(const options& chosen) {
  return {"Weft, dedicated devices", [pin = pinning_of(chosen.bench)](std::vector<point> points) {
            for (point& each : points) each.mode = mode::threads_dedicated;
            return run_weft(pin, points);
          }};
}

contestant weft_unbound(const options& chosen) {
  return {std::string{unbound_weft},
          [pin = pinning_of(chosen.bench)](const std::vector<point>& points) { return run_weft(pin, points, "none"); }};
}

contestant weft_by_own_calls(const options& chosen) {
  contestant out = weft_itself(chosen);
  out.name = own_weft;
  return out;
}

std::vector<contestant> weft_by_algorithms(const options& chosen) {
  std::vector<std::string> names = chosen.algorithms;
  if (names == std::vector<std::string>{"all"})
    names.assign(collective_algorithms.begin(), collective_algorithms.end());
  std::vector<contestant> out;
  for (const std::string& name : names) {
    out.push_back({std::string{weft_by} + name, [name](std::vector<point> points) {
                     for (point& each : points) each.group.algorithm = name;
                     return run_weft("none", points);
                   }});
  }
  return out;
}

contestant weft_packing_by_loops(const options& chosen) {
  return {std::string{weft_by_loops}, [pin = pinning_of(chosen.bench)](std::vector<point> points) {
            for (point& each : points) each.blocks.by_loops = true;
            return run_weft(pin, points);
          }};
}

contestant weft_in_packets(const options& chosen) {
  return {std::string{weft_side_by_side}, [pin = pinning_of(chosen.bench)](std::vector<point> points) {
            for (point& each : points) each.blocks = {};
            return run_weft(pin, points, "auto", {{"WEFT_SHM_CMA", "off"}});
          }};
}

std::string find_network_provider() {
  launched result;
  for (const char* provider : {"net", "tcp"}) {
    result = run_program(points_command(), hang_limit_s, transport_by(provider));
    if (result.exit_code == 0) return provider;
  }
  fmt::print(stderr, "weft-perf: nothing is measured over a network: {}\n", result.last_error());
  return {};
}

component_peer_list find_component_peers(const options& chosen, const std::string& folder,
                                         const std::set<std::string>& claims) {
  component_peer_list out;
  const auto compiler = find_program("c++");
  for (const component_source& each : component_sources()) {
    if (!claims.contains(each.claim)) continue;
    const std::string program = folder + "/peer" + each.define;
    if (compiler) {
      std::vector<std::string> command{*compiler, "-O2",  "-std=c++20", each.define, peer_source(chosen, each.file),
                                       "-o",      program};
      command.insert(command.end(), each.libraries.begin(), each.libraries.end());
      command.push_back("-pthread");
      if (run_program(command, component_limit_s).exit_code == 0) {
        out.present.push_back({each.name, each.claim, program});
        continue;
      }
    }
    out.absent.push_back(each.name);
  }
  return out;
}

sample measure_component_peer(const component_peer& peer, std::uint32_t threads, double seconds) {
  const double before = measure_handover_here();
  const launched result = run_program({peer.program, fmt::format("{}:{}:{:.3f}", peer.claim, threads, seconds * 1000)},
                                      hang_limit_s + 20 * seconds);
  const double after = measure_handover_here();
  const round_result samples = parse_samples(result.output, 1);
  if (result.exit_code != 0 || !samples[0]) {
    throw error{errc::transport_failed,
                fmt::format("{}: {}", peer.name, result.why_it_failed(hang_limit_s + 20 * seconds))};
  }
  sample out = *samples[0];
  out.before_ns = before;
  out.after_ns = after;
  return out;
}

}  // namespace weft::perf
