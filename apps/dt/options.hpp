// SPDX-License-Identifier: BSD-3-Clause
// The user's choices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dt/run.hpp"

namespace weft_dt {

struct command_line {
  run_options run;
  std::optional<std::int64_t> expected;  ///< instead of the published checksum
  bool json = false;
  bool show_progress = true;
  int exit_code = -1;  ///< not negative: there is nothing to do but to print `text` and to exit
  std::string text;
};

/// Understands the arguments of `weft-dt`. Never exits or prints.
[[nodiscard]] command_line read_command_line(int argc, const char* const* argv);

/// As the user writes them.
[[nodiscard]] const char* name_of(graph_kind kind) noexcept;
[[nodiscard]] const char* name_of(graph_class size_class) noexcept;

}  // namespace weft_dt
