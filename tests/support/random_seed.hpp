// SPDX-License-Identifier: BSD-3-Clause
// The seed of randomized tests: new in every run, printed, and set by the environment variable TEST_SEED to replay one.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

#include "base/sanitizer.hpp"

namespace weft::test {

using base::under_sanitizer;

inline std::uint64_t random_seed() {
  const char* set = std::getenv("TEST_SEED");
  const std::uint64_t seed = set != nullptr ? std::strtoull(set, nullptr, 0) : std::random_device{}();
  std::cout << "TEST_SEED=" << seed << '\n';
  return seed;
}

}  // namespace weft::test
