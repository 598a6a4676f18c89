// SPDX-License-Identifier: BSD-3-Clause
// Why a job ends: the line for the user, and the exit code.
#pragma once

#include <cstdint>
#include <string>

#include "weft-run/messages.hpp"
#include "weft-run/program.hpp"

namespace weft::run {

struct end_reason {
  int exit_code;
  std::string text;
};

/// As a shell says it. `status`: as waitpid tells it.
[[nodiscard]] int exit_code_of(int status);
/// As in `failed: exit code 3` or `was killed by signal 9 (Killed)`.
[[nodiscard]] std::string describe_end(int status);
/// A rank of this program could not be started. `problem`: the errno.
[[nodiscard]] end_reason reason_of_failed_start(std::uint32_t rank, start_step step, int problem,
                                                const program& started);

}  // namespace weft::run
