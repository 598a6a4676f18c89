// SPDX-License-Identifier: BSD-3-Clause
// Starting one rank, and finding everything that descends from a process.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "weft-run/binding.hpp"
#include "weft-run/descriptor.hpp"
#include "weft-run/messages.hpp"
#include "weft-run/program.hpp"

namespace weft::run {

/// How signals and limits were when weft-run was started; the ranks shall find them so.
struct inherited_state {
  sigset_t mask{};
  struct sigaction pipe {};
  struct sigaction terminal_output {};
  rlimit files{};
};

/// The ends of a rank's connections that become the rank's.
struct rank_ends {
  descriptor input;
  descriptor output;
  descriptor errors;
  descriptor pmi;
};

/// What all ranks have in common.
struct program_plan {
  std::uint32_t ranks = 0;
  std::vector<program> programs;
  std::vector<std::string> environment;  ///< NAME=VALUE, from the command line, of all ranks
  std::uint32_t terminal_columns = 0;    ///< of the terminal that weft-run's messages go to; 0: there is none
  pid_t launcher = 0;
  std::string ask_word;  ///< the value of WEFT_RUN_ASK_WORD; empty: there is none
  int ask_fd = -1;       ///< the descriptor in it, which the ranks keep
  /// weft-run's process group, which rank 0 joins so that it may read the terminal; 0: standard input is no terminal.
  pid_t terminal_group = 0;
  inherited_state inherited;
};

struct start_failure {
  start_step step = start_step::process;
  int problem = 0;  ///< an errno
};

/// Starts the rank as a child, in a process group of its own or in `terminal_group`, to be killed by the kernel when
/// the caller dies.
/// **Returns** its pid; or -1 with the failure set.
[[nodiscard]] pid_t start_rank(const program_plan& plan, const binding& bind, std::uint32_t rank, const rank_ends& ends,
                               start_failure& failure);

/// All living descendants of a process.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t ancestor);
/// The same by the list of children that a thread has in /proc, which costs less; children of threads other than a
/// process's first are missing. At most `max`.
[[nodiscard]] std::vector<pid_t> listed_descendants_of(pid_t ancestor, std::size_t max);

/// Sends `signal` to `parent` and to its descendants in process group `group`.
void signal_family(pid_t parent, pid_t group, int signal) noexcept;

/// Kills every living descendant of the caller. **Returns** how many it found.
[[nodiscard]] std::size_t kill_descendants() noexcept;

}  // namespace weft::run
