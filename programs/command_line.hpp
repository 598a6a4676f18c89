// What a program answers to a command line that asks for help, or is wrong.
#pragma once

#include <CLI/CLI.hpp>

#include <sstream>
#include <string>

namespace weft {

/// Sets `text` to the answer. **Returns** the exit code: 0 after help or a version, 2 after a mistake.
[[nodiscard]] inline int answer_to(const CLI::App& app, const CLI::ParseError& problem, std::string& text) {
  std::ostringstream out;
  const int code = app.exit(problem, out, out);
  text = out.str();
  return code == 0 ? 0 : 2;
}

}  // namespace weft
