// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait/shared_fence.hpp"

#include <gtest/gtest.h>

namespace weft::core {
namespace {

TEST(shared_fence, serves_all_that_have_announced_themselves_before) {
  shared_fence fence;
  int calls = 0;
  const auto count = [&] {
    ++calls;
    return true;
  };
  const std::uint64_t first = fence.announce();
  const std::uint64_t second = fence.announce();
  EXPECT_FALSE(fence.has_passed(first));
  EXPECT_TRUE(fence.pass(count));
  EXPECT_TRUE(fence.has_passed(first));
  EXPECT_TRUE(fence.has_passed(second));
  EXPECT_EQ(calls, 1);
}

TEST(shared_fence, serves_none_that_announces_itself_later_or_meanwhile) {
  shared_fence fence;
  std::uint64_t meanwhile = 0;
  EXPECT_TRUE(fence.pass([&] {
    meanwhile = fence.announce();
    return true;
  }));
  EXPECT_FALSE(fence.has_passed(meanwhile));
  EXPECT_FALSE(fence.has_passed(fence.announce()));
}

TEST(shared_fence, that_failed_serves_none) {
  shared_fence fence;
  const std::uint64_t ticket = fence.announce();
  EXPECT_FALSE(fence.pass([] { return false; }));
  EXPECT_FALSE(fence.has_passed(ticket));
}

TEST(shared_fence, keeps_the_number_of_the_later_one_where_the_earlier_one_ends_last) {
  shared_fence fence;
  std::uint64_t ticket = 0;
  EXPECT_TRUE(fence.pass([&] {
    ticket = fence.announce();
    return fence.pass([] { return true; });
  }));
  EXPECT_TRUE(fence.has_passed(ticket));
}

}  // namespace
}  // namespace weft::core
