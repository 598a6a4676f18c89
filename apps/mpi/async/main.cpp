// SPDX-License-Identifier: BSD-3-Clause
// mpi-async: how soon progress of MPI notices that tasks of the program are over, by calls of MPI and mpix.h alone.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "measure.hpp"
#include "mpi/report/report.hpp"
#include "options.hpp"

namespace {

using mpi_async::command_line;
using mpi_async::measured;
using mpi_async::point;
using mpi_async::result;
using mpi_report::library_version;
using mpi_report::quoted;

struct quartiles {
  double low = 0, median = 0, high = 0;
};

quartiles quartiles_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto at = [&values](std::size_t quarters) { return values[(values.size() - 1) * quarters / 4]; };
  return {at(1), at(2), at(3)};
}

// What a call of MPI_Wtime takes, in ns: each poll of a task makes one.
double time_clock() {
  constexpr int calls = 10'000;
  const double begin = MPI_Wtime();
  for (int call = 1; call < calls; ++call) (void)MPI_Wtime();
  return (MPI_Wtime() - begin) * 1e9 / calls;
}

void print_json(const point& chosen, const result& found, int level, int ranks) {
  const quartiles late = quartiles_of(found.late.ns);
  std::printf(
      "{\"program\": \"mpi-async\", \"library\": %s, \"measure\": \"%s\", \"level\": \"%s\", \"ranks\": %d, "
      "\"threads\": %d, "
      "\"tasks\": %d, \"delay_ns\": %u, \"clock_ns\": %.1f, ",
      quoted(library_version()).c_str(), name_of(chosen.kind), level == MPI_THREAD_MULTIPLE ? "multiple" : "single",
      ranks, chosen.threads, chosen.tasks, chosen.delay_ns, time_clock());
  if (!found.late.ns.empty())
    std::printf("\"late_ns\": %.1f, \"late_q1_ns\": %.1f, \"late_q3_ns\": %.1f, ", late.median, late.low, late.high);
  if (found.call_ns != 0) std::printf("\"call_ns\": %.1f, \"call_cpu_ns\": %.1f, ", found.call_ns, found.call_cpu_ns);
  if (chosen.kind == measured::call)
    std::printf("\"empty_call_ns\": %.2f, \"poll_ns\": %.2f, ", found.empty_call_ns,
                (found.call_ns - found.empty_call_ns) / chosen.tasks);
  if (chosen.kind == measured::queries) std::printf("\"query_ns\": %.2f, ", found.query_ns);
  if (chosen.kind == measured::allreduce)
    std::printf("\"hooks_ns\": %.1f, \"iallreduce_ns\": %.1f, ", found.own_ns, found.library_ns);
  std::printf("\"ended\": %llu, \"wrong\": %llu, \"verdict\": \"%s\"}\n",
              static_cast<unsigned long long>(found.late.ended), static_cast<unsigned long long>(found.late.wrong),
              found.late.wrong == 0 ? "right" : "WRONG");
}

void print_row(const point& chosen, const result& found) {
  const quartiles late = quartiles_of(found.late.ns);
  std::string more;
  const auto add = [&more](const char* words, double ns) {
    char text[64];
    std::snprintf(text, sizeof text, "  %s %.1f ns", words, ns);
    more += text;
  };
  if (found.call_ns != 0) add("call", found.call_ns);
  if (chosen.kind == measured::call) add("without hooks", found.empty_call_ns);
  if (chosen.kind == measured::queries) add("query", found.query_ns);
  if (chosen.kind == measured::allreduce) {
    add("by hooks", found.own_ns);
    add("MPI_Iallreduce", found.library_ns);
  }
  std::printf("%-10s %7d %9u %8d %10.0f %10.0f %10.0f  %s%s\n", name_of(chosen.kind), chosen.tasks, chosen.delay_ns,
              chosen.threads, late.low, late.median, late.high, found.late.wrong == 0 ? "right" : "WRONG",
              more.c_str());
}

std::vector<point> all_points(const command_line& line) {
  std::vector<point> out;
  for (const measured kind : line.measures) {
    for (const int tasks : line.tasks) {
      for (const std::uint32_t delay_ns : line.delays_ns) {
        for (const int threads : line.threads)
          out.push_back(
              {.kind = kind, .tasks = tasks, .delay_ns = delay_ns, .threads = threads, .seconds = line.seconds});
      }
    }
  }
  return out;
}

// Why these measurements do not suit this job; empty: they do.
std::string find_mistake(const command_line& line, int level, int ranks) {
  if (level < line.level) return "this MPI library has no MPI_THREAD_MULTIPLE";
  for (const measured each : line.measures) {
    if (each != measured::allreduce && ranks != 1)
      return "there are " + std::to_string(ranks) + " ranks: start one for --measure " + name_of(each);
    if (each == measured::allreduce && (ranks < 2 || (ranks & (ranks - 1)) != 0))
      return "there are " + std::to_string(ranks) +
             " ranks: start 2, 4, 8 or another power of two for --measure allreduce";
  }
  return "";
}

int run_all(const command_line& line, int rank, int ranks) {
  if (rank == 0 && !line.json) std::puts("measure      tasks  delay ns  threads   late: q1  median ns         q3");
  std::uint64_t wrong = 0;
  for (const point& each : all_points(line)) {
    const result found = mpi_async::measure(each);
    wrong += found.late.wrong;
    if (rank != 0) continue;
    line.json ? print_json(each, found, line.level, ranks) : print_row(each, found);
    std::fflush(stdout);
  }
  if (wrong != 0 && rank == 0)
    std::fprintf(stderr, "mpi-async: %llu tasks or sums were wrong\n", static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const command_line line = mpi_async::read_command_line(argc, argv, library_version());
  int level = 0, rank = 0, ranks = 0;
  MPI_Init_thread(&argc, &argv, line.level, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int code = line.exit_code;
  if (code >= 0) {
    if (rank == 0) std::fputs(line.text.c_str(), code == 0 ? stdout : stderr);
  } else if (const std::string mistake = find_mistake(line, level, ranks); !mistake.empty()) {
    if (rank == 0) std::fprintf(stderr, "mpi-async: %s\n", mistake.c_str());
    code = 2;
  } else {
    try {
      code = run_all(line, rank, ranks);
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "mpi-async: rank %d: %s\n", rank, problem.what());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_Finalize();
  return code;
}
