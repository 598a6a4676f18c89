// SPDX-License-Identifier: BSD-3-Clause
// The answer of a program to --version.
#pragma once

#include <string>

#include "weft/version.hpp"

namespace weft {

/// `weft-run 0.1.0`: the version of the library that the program runs with.
[[nodiscard]] inline std::string version_of(const char* program) { return std::string{program} + " " + version_text(); }

}  // namespace weft
