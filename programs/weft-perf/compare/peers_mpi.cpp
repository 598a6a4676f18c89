// SPDX-License-Identifier: BSD-3-Clause
// MPI libraries: one source, compiled by each one's wrapper, one launch a round for all points.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "weft-perf/compare/peers.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft-perf/report/machine.hpp"
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

// These hold an MPI to TCP between processes of one machine. Open MPI takes options; the others read variables: MPICH
// leaves its shared memory out, UCX or libfabric below it takes TCP, and Intel's gets a fabric alone.
const std::vector<std::string> open_mpi_over_tcp{"--mca", "pml", "ob1", "--mca", "btl", "tcp,self"};
const variables others_over_tcp{{"MPIR_CVAR_NOLOCAL", "1"},
                                {"MPIR_CVAR_CH3_NOLOCAL", "1"},
                                {"UCX_TLS", "tcp,self"},
                                {"FI_PROVIDER", "tcp"},
                                {"I_MPI_FABRICS", "ofi"}};

// One way to run the program that was compiled for an MPI.
struct mpi_runner {
  std::string name;
  std::vector<std::string> start;  // the launcher with its options
  std::string program;
  bool open_mpi = false;
  bool yields = true;          // or keeps a core from the others that share it
  bool spin_phases = false;    // more threads than cores spin and yield as Weft's do (spin_phase.hpp)
  bool uses_defaults = false;  // the program leaves its threads where they are started

  // Latency over a network is compared with libfabric's own: the difference is Weft's.
  [[nodiscard]] bool measures(const point& measured) const {
    if (spin_phases && !is_crowded(2 * measured.threads)) return false;
    const bool is_together = measured.takes_all_ranks() || measured.group.ranks > 2;
    if (is_together && !yields && is_crowded(std::uint64_t{measured.group.ranks} * measured.threads)) return false;
    return !measured.over_network() || !measured.is_latency();
  }

  // How the program's threads wait, and in how many communicators.
  [[nodiscard]] const char* waits_of(const point& measured) const {
    if (measured.group.has_one_communicator) return "one";
    if (uses_defaults || measured.uses_defaults) return "plain";
    return spin_phases ? "turns" : "calls";
  }

  [[nodiscard]] variables environment(bool over_network) const {
    variables out = over_network && !open_mpi ? others_over_tcp : variables{};
    if (open_mpi) out.insert({{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
    return out;
  }

  [[nodiscard]] round_result run(const std::vector<point>& points) const {
    const bool over_network = std::any_of(points.begin(), points.end(), std::mem_fn(&point::over_network));
    const bool threaded = std::any_of(points.begin(), points.end(), [](const point& each) { return each.threads > 1; });
    std::vector<std::string> command = start;
    if (over_network && open_mpi) command.insert(command.end(), open_mpi_over_tcp.begin(), open_mpi_over_tcp.end());
    command.insert(command.end(), {"-n", std::to_string(points.front().group.ranks)});
    // A library that need not lock is faster, so one thread is measured without locks.
    command.insert(command.end(), {program, threaded ? "multiple" : "single", waits_of(points.front()), processors()});
    std::vector<std::size_t> indices;
    double seconds = hang_limit_s;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!measures(points[i])) continue;
      indices.push_back(i);
      command.push_back(points[i].text());
      seconds += 40 * points[i].seconds + (points[i].takes_all_ranks() ? 5 : 0);
    }
    round_result out(points.size());
    if (indices.empty()) return out;
    const launched result = run_program(command, seconds, environment(over_network));
    if (result.exit_code != 0) {
      throw error{errc::transport_failed, fmt::format("{}: {}", name, result.why_it_failed(seconds))};
    }
    const round_result samples = parse_samples(result.output, indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) out[indices[i]] = samples[i];
    return out;
  }
};

void add(peer_list& to, const mpi_runner& runner) {
  to.present.push_back({runner.name, [runner](const std::vector<point>& points) { return runner.run(points); }});
}

// Where threads share cores: once waiting as the library does, once taking turns.
void add_with_spin_phases(peer_list& to, mpi_runner runner) {
  add(to, runner);
  runner.name += ", in turns";
  runner.spin_phases = true;
  add(to, runner);
}

// By a vector type, and by a program that packs and unpacks by loops.
void add_with_blocks(peer_list& to, const mpi_runner& runner) {
  to.with_blocks.push_back({runner.name, [runner](const std::vector<point>& points) { return runner.run(points); }});
  to.with_blocks.push_back({runner.name + ", by loops", [runner](std::vector<point> points) {
                              for (point& each : points) each.blocks.by_loops = true;
                              return runner.run(points);
                            }});
}

void add_one_with_defaults(peer_list& to, const mpi_runner& runner) {
  to.with_defaults.push_back({runner.name, [runner](const std::vector<point>& points) { return runner.run(points); }});
}

// As its users start it, and with each rank on a core of its own.
void add_with_defaults(peer_list& to, mpi_runner runner, const std::vector<std::string>& bound) {
  runner.uses_defaults = true;
  add_one_with_defaults(to, runner);
  runner.name += ", bound";
  runner.start.insert(runner.start.end(), bound.begin(), bound.end());
  add_one_with_defaults(to, runner);
}

// Each rank on one core, which it shares with others where there are more ranks than cores.
void add_of_all_ranks(peer_list& to, mpi_runner runner, bool yields) {
  runner.yields = yields;
  to.of_all_ranks.push_back({runner.name, [runner](const std::vector<point>& points) { return runner.run(points); }});
}

// The program for an MPI, made of the one source; empty: it does not compile.
std::string compiled_for(const std::string& name, const std::string& wrapper, const options& chosen,
                         const std::string& program) {
  const launched compiled = run_program(
      {wrapper, "-O2", "-std=gnu11", peer_source(chosen, "mpi_peer.c"), "-o", program, "-lpthread"}, compile_limit_s);
  if (compiled.exit_code == 0) return program;
  fmt::print(stderr, "weft-perf: {} does not compile for {}: {}\n", "mpi_peer.c", name, compiled.last_error());
  return {};
}

}  // namespace

void add_own_mpi(peer_list& to, const options& chosen, const std::string& folder) {
  const std::string program =
      compiled_for("Weft's MPI", program_folder() + "/weft-mpicc", chosen, folder + "/mpi_peer_of_weft");
  if (program.empty()) return;
  const mpi_runner runner{.name = "Weft", .start = {program_folder() + "/weft-run"}, .program = program};
  to.own_mpi.push_back({runner.name, [runner](const std::vector<point>& points) { return runner.run(points); }});
  to.own_mpi.push_back({std::string{mpi_by_loops}, [runner](std::vector<point> points) {
                          for (point& each : points) each.blocks.by_loops = true;
                          return runner.run(points);
                        }});
}

void add_mpi_peers(peer_list& to, const options& chosen, const std::string& folder) {
  for (const mpi& each : candidates(chosen)) {
    const auto wrapper = find_program(each.wrapper);
    const auto launcher = find_program(each.launcher);
    if (!wrapper || !launcher) {
      to.absent.push_back(each.name);
      continue;
    }
    const std::string program =
        compiled_for(each.name, *wrapper, chosen, fmt::format("{}/mpi_peer{}", folder, to.present.size()));
    if (program.empty()) {
      to.absent.push_back(each.name);
      continue;
    }
    if (!is_open_mpi(*launcher)) {
      const mpi_runner runner{.name = each.name, .start = {*launcher}, .program = program};
      add_with_spin_phases(to, runner);
      add_with_blocks(to, runner);
      add_with_defaults(to, runner, {"-bind-to", "core"});
      add_of_all_ranks(to, runner, true);
      continue;
    }
    // With --oversubscribe Open MPI might decide to yield by itself: both options are given.
    const auto open_mpi = [&](const std::string& name, const std::string& yields) {
      return mpi_runner{
          .name = name,
          .start = {*launcher, "--bind-to", "none", "--oversubscribe", "--mca", "mpi_yield_when_idle", yields},
          .program = program,
          .open_mpi = true};
    };
    add_with_spin_phases(to, open_mpi(each.name, "0"));
    add_with_blocks(to, open_mpi(each.name, "0"));
    add(to, open_mpi(each.name + ", yielding", "1"));
    add_of_all_ranks(to, open_mpi(each.name, "0"), false);
    add_of_all_ranks(to, open_mpi(each.name + ", yielding", "1"), true);
    mpi_runner as_users = open_mpi(each.name, "0");
    as_users.start = {*launcher};
    add_with_defaults(to, as_users, {"--bind-to", "core"});
    as_users = open_mpi(each.name + ", yielding", "1");
    as_users.uses_defaults = true;
    add_one_with_defaults(to, as_users);
  }
  to.mpis = to.present;
}

}  // namespace weft::perf
