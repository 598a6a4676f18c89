// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/end_reasons.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "weft-run/options.hpp"

namespace weft::run {

int exit_code_of(int status) { return WIFSIGNALED(status) ? exit_signal + WTERMSIG(status) : WEXITSTATUS(status); }

std::string describe_end(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("failed: exit code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  return fmt::format("was killed by signal {} ({}){}", signal, ::strsignal(signal),
                     WCOREDUMP(status) ? ", core dumped" : "");
}

end_reason reason_of_failed_start(std::uint32_t rank, start_step step, int problem, const program& started) {
  const char* const why = std::strerror(problem);
  const std::string text = fmt::format("rank {} could not be ", rank);
  switch (step) {
    case start_step::process: return {exit_launcher, fmt::format("{}started: {}", text, why)};
    case start_step::binding:
      return {exit_launcher, fmt::format("{}bound to its processors: {}; --bind none does without", text, why)};
    case start_step::folder:
      return {exit_launcher, fmt::format("{}started in the folder {}: {}", text, started.folder, why)};
    case start_step::program: break;
  }
  return {problem == ENOENT ? exit_not_found : exit_not_executable,
          fmt::format("{}started: {}: {}", text, started.command.front(), why)};
}

}  // namespace weft::run
