// MPI libraries: one source, compiled by each one's wrapper, one launch a round for all points.
#include <fmt/format.h>

#include <algorithm>

#include "weft-perf/machine.hpp"
#include "weft-perf/peers.hpp"
#include "weft/error.hpp"

namespace weft::perf {
namespace {

struct mpi {
  std::string name;
  std::string wrapper;
  std::string launcher;
};

constexpr double compile_limit_s = 120;

// Those of the distribution, each by names that are only its own: `mpicc` alone may be anybody's.
std::vector<mpi> candidates(const options& chosen) {
  std::vector<mpi> out{{"MPICH", "mpicc.mpich", find_program("mpiexec.mpich") ? "mpiexec.mpich" : "mpiexec.hydra"},
                       {"Open MPI", "mpicc.openmpi", "mpirun.openmpi"}};
  for (const std::string& text : chosen.mpi) {
    const std::size_t equals = text.find('=');
    const std::size_t colon = text.rfind(':');
    if (equals == std::string::npos || colon == std::string::npos || colon < equals) {
      throw error{errc::invalid_argument, fmt::format("--mpi: '{}' is not of the form NAME=mpicc:mpiexec", text)};
    }
    out.push_back({text.substr(0, equals), text.substr(equals + 1, colon - equals - 1), text.substr(colon + 1)});
  }
  return out;
}

bool is_open_mpi(const std::string& launcher) {
  const launched version = run_program({launcher, "--version"}, 30);
  return version.output.find("Open MPI") != std::string::npos || version.output.find("OpenRTE") != std::string::npos;
}

round_result run_mpi(const std::string& name, std::vector<std::string> command, const variables& environment,
                     const std::vector<point>& points) {
  const bool threaded = std::any_of(points.begin(), points.end(), [](const point& each) { return each.threads > 1; });
  // A library that need not lock is faster, so what one thread does is measured without.
  command.emplace_back(threaded ? "multiple" : "single");
  double seconds = 60;
  for (const point& each : points) {
    command.push_back(each.text());
    seconds += 40 * each.seconds;
  }
  const launched result = run_program(command, seconds, environment);
  round_result samples = parse_samples(result.output, points.size());
  if (result.exit_code != 0) {
    const std::string why =
        result.exit_code == 124 ? fmt::format("not through after {:.0f} s", seconds) : result.last_error();
    throw error{errc::transport_failed, fmt::format("{}: {}", name, why)};
  }
  return samples;
}

}  // namespace

void add_mpi_peers(peer_list& to, const options& chosen, const std::string& folder) {
  for (const mpi& each : candidates(chosen)) {
    const auto wrapper = find_program(each.wrapper);
    const auto launcher = find_program(each.launcher);
    if (!wrapper || !launcher) {
      to.absent.push_back(each.name);
      continue;
    }
    const std::string program = fmt::format("{}/mpi_peer{}", folder, to.present.size());
    const launched compiled =
        run_program({*wrapper, "-O2", "-std=gnu11", peer_source(chosen, "mpi_peer.c"), "-o", program, "-lpthread"},
                    compile_limit_s);
    if (compiled.exit_code != 0) {
      fmt::print(stderr, "weft-perf: {} does not compile for {}: {}\n", "mpi_peer.c", each.name, compiled.last_error());
      to.absent.push_back(each.name);
      continue;
    }
    if (!is_open_mpi(*launcher)) {
      to.present.push_back({each.name, [=, name = each.name](const std::vector<point>& points) {
                              return run_mpi(name, {*launcher, "-n", "2", program}, {}, points);
                            }});
      continue;
    }
    const variables as_root{{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
    const std::vector<std::string> start{*launcher, "--bind-to", "none", "--oversubscribe", "-n", "2"};
    // With --oversubscribe Open MPI might decide to yield by itself: both are said.
    for (const bool yields : {false, true}) {
      const std::string name = each.name + (yields ? ", yielding" : "");
      std::vector<std::string> command = start;
      command.insert(command.end(), {"--mca", "mpi_yield_when_idle", yields ? "1" : "0", program});
      to.present.push_back(
          {name, [=](const std::vector<point>& points) { return run_mpi(name, command, as_root, points); }});
    }
  }
}

}  // namespace weft::perf
