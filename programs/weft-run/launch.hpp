// SPDX-License-Identifier: BSD-3-Clause
// The start of a job: all connections, then the guardian.
#pragma once

#include <vector>

#include "weft-run/descriptor.hpp"
#include "weft-run/options.hpp"
#include "weft-run/processes.hpp"

namespace weft::run {

/// weft-run's ends of a rank's connections; non-blocking.
struct launcher_ends {
  descriptor output;
  descriptor errors;
  descriptor pmi;
};

struct launched_job {
  std::vector<launcher_ends> ranks;
  descriptor control;  ///< orders out, events in
  pid_t guardian = -1;
};

/// Throws weft::error that says "can't `action`" and the cause, which is errno.
[[noreturn]] void fail_by_errno(const char* action);

/// Sees to it that 0, 1 and 2 are open, ignores what would stop or kill weft-run itself, and tells how things were.
[[nodiscard]] inherited_state prepare_process();

/// Starts the guardian, and through it the ranks. `argv` is what the guardian overwrites with a name of its own.
/// **Errors** weft::error with the cause.
[[nodiscard]] launched_job launch(const options& chosen, program_plan plan, const binding& bind, char** argv);

}  // namespace weft::run
