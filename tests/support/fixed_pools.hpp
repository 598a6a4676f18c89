// SPDX-License-Identifier: BSD-3-Clause
// For suites about what happens when a pool is used up: pools of set and moderate sizes, in this process.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/config.hpp"

namespace weft::test {

/// Sets the sizes of pools, unless the environment does. Called before the process reads its settings.
inline void fix_pools() {
  ::setenv("WEFT_OPERATIONS_MAX", "1024", 0);
  ::setenv("WEFT_RECEIVES_MAX", "4096", 0);
  ::setenv("WEFT_UNEXPECTED_SENDS_MAX", "16384", 0);
}
/// False where another suite of this process has read the settings before.
[[nodiscard]] inline bool are_pools_fixed() { return base::process_settings().operations_max.has_value(); }

/// The base of such a suite.
class fixed_pools : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { fix_pools(); }
  void SetUp() override {
    if (!are_pools_fixed()) GTEST_SKIP() << "another suite has read the settings: run this one in a process of its own";
  }
};

}  // namespace weft::test
