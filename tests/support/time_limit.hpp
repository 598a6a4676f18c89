// SPDX-License-Identifier: BSD-3-Clause
// The bound of a test's wait. A machine that is stopped for a while and then continued, as virtual machines are, does
// not use it up.
#pragma once

#include <algorithm>
#include <chrono>

#include "support/random_seed.hpp"

namespace weft::test {

/// How long a test waits for an event that should follow immediately: far above the time that any machine needs, and
/// above the time for which machines are stopped.
inline constexpr std::chrono::seconds patience{under_sanitizer ? 300 : 180};

/// Counts the time between two looks, but no more than a second of it. **Threads**: one.
class time_limit {
 public:
  explicit time_limit(std::chrono::nanoseconds limit = patience) noexcept : left_{limit} {}

  [[nodiscard]] bool is_over() noexcept {
    const auto now = std::chrono::steady_clock::now();
    left_ -= std::min<std::chrono::nanoseconds>(now - seen_, std::chrono::seconds{1});
    seen_ = now;
    return left_ < std::chrono::nanoseconds{0};
  }

 private:
  std::chrono::nanoseconds left_;
  std::chrono::steady_clock::time_point seen_ = std::chrono::steady_clock::now();
};

}  // namespace weft::test
