// SPDX-License-Identifier: BSD-3-Clause
// The user's choices.
#pragma once

#include <string>

#include "uts/search.hpp"

namespace weft_uts {

struct command_line {
  search_options search;
  bool sequential = false;
  bool verify = false;
  bool json = false;
  bool show_progress = true;
  int exit_code = -1;  ///< not negative: there is nothing to do but to print `text` and to exit
  std::string text;
};

/// Understands the arguments of `weft-uts`. Never exits or prints.
[[nodiscard]] command_line read_command_line(int argc, const char* const* argv);

}  // namespace weft_uts
