// SPDX-License-Identifier: BSD-3-Clause
// The bytes that all pools of a rank have together, and the line that says when they are used up.
// stages: release asan
#include "core/memory/state_budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace weft::core {
namespace {

using ::testing::HasSubstr;

TEST(state_budget, has_no_more_than_its_bytes) {
  state_budget budget{100};
  EXPECT_TRUE(budget.try_take(60));
  EXPECT_FALSE(budget.try_take(41));
  EXPECT_FALSE(budget.try_take(~std::uint64_t{0}));
  EXPECT_TRUE(budget.try_take(40));
  EXPECT_FALSE(budget.try_take(1));
  EXPECT_EQ(budget.bytes(), 100U);
  budget.put_back(60);
  EXPECT_TRUE(budget.try_take(60));
}

TEST(state_budget, tells_once_of_each_reason_what_is_full_and_what_raises_it) {
  state_budget budget{1000};
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    budget.log_full("receives", pool_end::count);
    budget.log_full("receives", pool_end::bytes);
    budget.log_full("posts", pool_end::no_memory);
  }
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_THAT(told, HasSubstr("the 1000 bytes of WEFT_STATE_BYTES_MAX"));
  EXPECT_THAT(told, HasSubstr("no room for more receives"));
  EXPECT_THAT(told, HasSubstr("no memory for more posts"));
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 2);
}

}  // namespace
}  // namespace weft::core
