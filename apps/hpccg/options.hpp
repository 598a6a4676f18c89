// SPDX-License-Identifier: BSD-3-Clause
// The user's choices.
#pragma once

#include <optional>
#include <string>

#include "hpccg/check.hpp"
#include "hpccg/solve.hpp"

namespace weft_hpccg {

struct command_line {
  solve_options solve;
  std::optional<known_residual> expected;  ///< besides the known ones
  bool json = false;
  bool show_progress = true;
  int exit_code = -1;  ///< not negative: there is nothing to do but to print `text` and to exit
  std::string text;
};

/// Understands the arguments of `weft-hpccg`. Never exits or prints.
[[nodiscard]] command_line read_command_line(int argc, const char* const* argv);

}  // namespace weft_hpccg
