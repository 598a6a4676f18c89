// SPDX-License-Identifier: BSD-3-Clause
// mpi-amlayer: active messages over MPI calls alone, of one or many threads.
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "continuations.hpp"
#include "mpi/report/report.hpp"
#include "options.hpp"
#include "traffic.hpp"

namespace {

using mpi_amlayer::command_line;
using mpi_amlayer::traffic_kind;
using mpi_amlayer::traffic_options;
using mpi_amlayer::traffic_result;
using mpi_report::library_version;
using mpi_report::quoted;

// Why these options do not suit this job; empty: they do.
std::string find_mistake(const traffic_options& options, int ranks) {
  if (ranks % 2 != 0) return "there are " + std::to_string(ranks) + " ranks: start an even number of them";
  if (options.completion != mpi_amlayer::completion_kind::poll && !mpi_amlayer::has_continuations)
    return std::string{"--completion "} + name_of(options.completion) + ": this MPI library has no continuations";
  void* bound = nullptr;
  int is_there = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&bound), &is_there);
  const std::int64_t tag = mpi_amlayer::largest_tag(options, ranks);
  if (is_there == 0 || tag <= *static_cast<const int*>(bound)) return "";
  return "--window: payloads need tags up to " + std::to_string(tag) + ", and this MPI library has tags up to " +
         std::to_string(*static_cast<const int*>(bound)) + ": take a smaller window, or fewer threads or ranks";
}

void print(const command_line& line, const traffic_options& options, const traffic_result& found, int ranks) {
  const bool is_ping_pong = options.traffic == traffic_kind::ping_pong;
  const double each_lane = options.messages * (is_ping_pong ? 2.0 : 1.0);
  const double rate = each_lane * options.threads * (ranks / 2) / found.seconds;
  const double message_ns = found.seconds / each_lane * 1e9;
  const char* const form = name_of(options.form);
  const char* const completion = name_of(options.completion);
  const char* const traffic = name_of(options.traffic);
  if (!line.json) {
    std::printf("%-5s %-16s %-10s %7d %7u %12.0f %14.3f  %s\n", form, completion, traffic, options.threads,
                options.bytes, message_ns, rate * 1e-6, found.wrong == 0 ? "right" : "WRONG");
    return;
  }
  std::printf(
      "{\"program\": \"mpi-amlayer\", \"library\": %s, \"form\": \"%s\", \"completion\": \"%s\", \"traffic\": \"%s\", "
      "\"ranks\": %d, "
      "\"threads\": %d, \"bytes\": %u, \"messages\": %u, ",
      quoted(library_version()).c_str(), form, completion, traffic, ranks, options.threads, options.bytes,
      options.messages);
  if (!is_ping_pong) std::printf("\"window\": %u, ", options.window);
  if (options.form == mpi_amlayer::layer_form::tag) std::printf("\"by_tag\": %s, ", found.is_by_tag ? "true" : "false");
  if (options.form == mpi_amlayer::layer_form::vci) std::printf("\"vcis\": %d, ", found.vcis);
  if (is_ping_pong) std::printf("\"message_ns\": %.1f, ", message_ns);
  std::printf("\"seconds\": %.6f, \"messages_per_second\": %.0f, \"wrong\": %llu, \"verdict\": \"%s\"}\n",
              found.seconds, rate, static_cast<unsigned long long>(found.wrong), found.wrong == 0 ? "right" : "WRONG");
}

std::vector<traffic_options> all_points(const command_line& line) {
  std::vector<traffic_options> out;
  for (const int threads : line.threads) {
    for (const std::uint32_t bytes : line.bytes) {
      out.push_back({.form = line.form,
                     .completion = line.completion,
                     .traffic = line.traffic,
                     .threads = threads,
                     .bytes = bytes,
                     .messages = line.messages,
                     .window = line.window,
                     .vcis = line.vcis,
                     .yield_after = line.yield_after});
    }
  }
  return out;
}

int run_all(const command_line& line, int rank, int ranks) {
  const std::vector<traffic_options> points = all_points(line);
  for (const traffic_options& each : points) {
    const std::string mistake = find_mistake(each, ranks);
    if (mistake.empty()) continue;
    if (rank == 0) std::fprintf(stderr, "mpi-amlayer: %s\n", mistake.c_str());
    return 2;
  }
  if (rank == 0 && !line.json)
    std::puts("form  completion       traffic    threads   bytes   ns a message  million a second");
  std::uint64_t wrong = 0;
  for (const traffic_options& each : points) {
    const traffic_result found = mpi_amlayer::run_traffic(each);
    wrong += found.wrong;
    if (rank != 0) continue;
    print(line, each, found, ranks);
    std::fflush(stdout);
  }
  if (wrong != 0 && rank == 0)
    std::fprintf(stderr, "mpi-amlayer: %llu messages were doubled or changed\n",
                 static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0, rank = 0, ranks = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const command_line line = mpi_amlayer::read_command_line(argc, argv, library_version());
  int code = line.exit_code;
  if (code >= 0) {
    if (rank == 0) std::fputs(line.text.c_str(), code == 0 ? stdout : stderr);
  } else if (level < MPI_THREAD_MULTIPLE) {
    if (rank == 0) std::fputs("mpi-amlayer: this MPI library has no MPI_THREAD_MULTIPLE\n", stderr);
    code = 2;
  } else {
    try {
      code = run_all(line, rank, ranks);
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "mpi-amlayer: rank %d: %s\n", rank, problem.what());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  MPI_Finalize();
  return code;
}
