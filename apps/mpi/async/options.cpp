// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "command_line.hpp"
#include "extensions.hpp"

namespace mpi_async {

namespace {

const std::map<std::string, measured> kinds{{"call", measured::call},        {"tasks", measured::tasks},
                                            {"class", measured::task_class}, {"streams", measured::streams},
                                            {"queries", measured::queries},  {"allreduce", measured::allreduce}};
const std::map<std::string, int> levels{{"single", MPI_THREAD_SINGLE}, {"multiple", MPI_THREAD_MULTIPLE}};

constexpr const char* footer =
    "One rank measures all kinds but allreduce, which needs 2, 4, 8 and so on. Streams of MPICH need the environment\n"
    "variable MPIR_CVAR_CH4_RESERVE_VCIS=N, at least as many as threads. The exit code is 1 if a task ended too "
    "early,\n"
    "twice or never, or a sum was wrong, and 2 for wrong arguments.";

bool has(const std::vector<measured>& kinds_of_line, measured kind) {
  return std::ranges::find(kinds_of_line, kind) != kinds_of_line.end();
}

// Streams are threads' own, so a library may want all threads where there is one.
bool needs_all_threads(const command_line& line) {
  return std::ranges::max(line.threads) > 1 || has(line.measures, measured::streams);
}

// What only all options together show.
void check(const command_line& line, std::optional<int> level) {
  const int most = std::ranges::max(line.threads);
  if (has(line.measures, measured::streams) && !has_streams)
    throw weft::command_mistake{"--measure", "this MPI library has no MPIX_Stream_create"};
  for (const measured each : {measured::call, measured::task_class, measured::queries, measured::allreduce}) {
    if (most > 1 && has(line.measures, each))
      throw weft::command_mistake{"--threads", std::string{name_of(each)} + " is measured with one thread"};
  }
  if (level == MPI_THREAD_SINGLE && needs_all_threads(line))
    throw weft::command_mistake{"--level", "several threads and streams need the level multiple"};
}

}  // namespace

const char* name_of(measured kind) noexcept {
  for (const auto& [name, named] : kinds) {
    if (named == kind) return name.c_str();
  }
  return "";
}

command_line read_command_line(int argc, const char* const* argv, const std::string& library) {
  command_line out;
  std::optional<int> level;
  weft::command_parser parser{
      "Measures how soon progress of MPI notices that tasks are over, by calls of MPI and mpix.h alone.", "mpi-async",
      "mpi-async with " + library};
  parser
      .add_choices(
          "--measure", out.measures, kinds,
          "call: a call of progress; tasks: a hook for each task; class: a hook for all tasks, which end in order; "
          "streams: as tasks, with a stream for each thread; queries: a hook asks receives; allreduce: by hooks, "
          "and MPI_Iallreduce")
      .with_default("tasks");
  parser
      .add_numbers("--tasks", out.tasks, 1, tasks_max,
                   "tasks that are pending together, of a stream each; of queries: receives")
      .with_default("10");
  parser.add_numbers("--delay-ns", out.delays_ns, 0, 1'000'000, "what a poll of a pending task takes")
      .with_default("0");
  parser.add_numbers("--threads", out.threads, 1, threads_max, "threads that make progress").with_default("1");
  parser.add_number("--seconds", out.seconds, 0.001, 3600, "of a measurement")
      .with_default(weft::number_text(out.seconds));
  parser.add_choice("--level", level, levels, "of threads, for which the library is asked")
      .with_default("multiple with several threads or streams, else single");
  parser.add_flag("--json", out.json, "a JSON object for each measurement instead of a table");
  parser.set_footer(footer);
  auto answer = parser.parse(argc, argv);
  if (!answer) {
    try {
      check(out, level);
    } catch (const weft::command_mistake& mistake) {
      answer = parser.refuse(mistake);
    }
  }
  if (answer) {
    out.exit_code = answer->exit_code;
    out.text = answer->text;
  }
  out.level = level.value_or(needs_all_threads(out) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  return out;
}

}  // namespace mpi_async
