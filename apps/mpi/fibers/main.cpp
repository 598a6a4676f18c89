// SPDX-License-Identifier: BSD-3-Clause
// mpi-fibers: the latency of messages between many fibers of two ranks, by MPI_Send and MPI_Recv.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "exchange.hpp"

namespace {

using mpi_fibers::exchange_options;
using mpi_fibers::exchange_result;

constexpr std::uint32_t fibers_max = 1U << 22;
constexpr const char* footer =
    "Start two ranks: weft-run -n 2 mpi-fibers --fibers 1,1024. A message's time is that of the run over the messages "
    "of all fibers. The "
    "exit code is 1 if an answer was wrong, and 2 for wrong arguments.";

struct command_line {
  std::vector<std::uint32_t> fibers{1, 16, 256, 1024};
  std::uint32_t workers = 1;
  std::uint32_t rounds = 3;
  std::uint32_t milliseconds = 100;
  bool json = false;
};

void print(const command_line& line, const exchange_options& measured, const exchange_result& found) {
  const char* const verdict = found.wrong == 0 ? "right" : "WRONG";
  if (!line.json) {
    std::printf("%8u fibers  %8.1f ns a message  %s\n", measured.fibers, found.message_ns, verdict);
  } else {
    std::printf(
        "{\"program\": \"mpi-fibers\", \"fibers\": %u, \"workers\": %u, \"message_ns\": %.1f, \"messages\": %llu, "
        "\"wrong\": %llu, \"verdict\": \"%s\"}\n",
        measured.fibers, measured.workers, found.message_ns, static_cast<unsigned long long>(found.messages),
        static_cast<unsigned long long>(found.wrong), verdict);
  }
  std::fflush(stdout);
}

int run(const command_line& line, int rank) {
  std::uint64_t wrong = 0;
  for (const std::uint32_t fibers : line.fibers) {
    for (std::uint32_t round = 0; round < line.rounds; ++round) {
      const exchange_options measured{.fibers = fibers, .workers = line.workers, .seconds = line.milliseconds * 1e-3};
      const exchange_result found = mpi_fibers::exchange(measured);
      wrong += found.wrong;
      if (rank == 0) print(line, measured, found);
    }
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  command_line line;
  weft::command_parser parser{"Messages between fibers of two ranks, by MPI_Send and MPI_Recv.", "mpi-fibers",
                              "mpi-fibers of Weft"};
  parser.add_numbers("--fibers", line.fibers, 1, fibers_max, "fibers of each rank").with_default("1,16,256,1024");
  parser.add_number("--workers", line.workers, 1, 64, "threads of each rank that run fibers").with_default("1");
  parser.add_number("--rounds", line.rounds, 1, 1000, "how often each number of fibers is measured").with_default("3");
  parser.add_number("--milliseconds", line.milliseconds, 1, 100'000, "time of a round").with_default("100");
  parser.add_flag("--json", line.json, "a JSON object for each round instead of a table");
  parser.set_footer(footer);
  if (const auto answer = parser.parse(argc, argv)) {
    std::fputs(answer->text.c_str(), answer->exit_code == 0 ? stdout : stderr);
    return answer->exit_code;
  }
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int exit_code = 2;
  try {
    if (ranks == 2)
      exit_code = run(line, rank);
    else if (rank == 0)
      std::fprintf(stderr, "mpi-fibers: there are %d ranks: start two\n", ranks);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "mpi-fibers: rank %d: %s\n", rank, problem.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return exit_code;
}
