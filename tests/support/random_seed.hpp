// SPDX-License-Identifier: BSD-3-Clause
// The seed of randomized tests: new in every run, printed, and set by the environment variable TEST_SEED to replay one.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

namespace weft::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool under_sanitizer = true;
#else
inline constexpr bool under_sanitizer = false;
#endif

inline std::uint64_t random_seed() {
  const char* set = std::getenv("TEST_SEED");
  const std::uint64_t seed = set != nullptr ? std::strtoull(set, nullptr, 0) : std::random_device{}();
  std::cout << "TEST_SEED=" << seed << '\n';
  return seed;
}

}  // namespace weft::test
