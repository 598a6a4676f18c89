// SPDX-License-Identifier: BSD-3-Clause
// Time as figures count it, and units of sizes.
#pragma once

#include <chrono>
#include <cstddef>

namespace weft::perf {

inline constexpr std::size_t kib = 1024, mib = 1024 * kib;

using clock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(clock::time_point begin) {
  return std::chrono::duration<double>(clock::now() - begin).count();
}

[[nodiscard]] inline double ns_since(clock::time_point begin) { return 1e9 * seconds_since(begin); }

}  // namespace weft::perf
