// When a waiting thread yields its core to others. What that brings is measured, not tested: `weft-perf latency
// --plain`.
// stages: release general asan
#include "core/wait/yield_policy.hpp"

#include <gtest/gtest.h>

namespace weft::core {
namespace {

TEST(yield_policy, never_yields_where_nobody_shares_the_processors) {
  yield_policy all;
  const yield_policy::wait_state mine;
  EXPECT_FALSE(all.is_due(1'000'000, mine));
  all.use(true);
  EXPECT_FALSE(all.is_due(yield_policy::first_look_count - 1, mine));
  EXPECT_TRUE(all.is_due(yield_policy::first_look_count, mine));
}

// Looks are forgotten only where others have run, and that for so many times.
TEST(yield_policy, ends_the_yields_of_one_wait) {
  yield_policy all;
  all.use(true);
  yield_policy::wait_state mine;
  std::uint32_t looks = 0;
  std::uint64_t steps = 0;
  while (looks < 256) {
    looks = all.is_due(looks, mine) ? all.yield_core(looks, mine) : looks + 1;
    ++steps;
    ASSERT_LE(steps, 256 + (yield_policy::yields_max + 1) * (yield_policy::lone_look_count + 1));
  }
  EXPECT_LE(mine.count, yield_policy::yields_max);
  mine.count = yield_policy::yields_max;
  mine.due = 0;
  EXPECT_EQ(all.yield_core(7, mine), 7U);
  EXPECT_FALSE(all.is_due(1'000'000, mine));
}

}  // namespace
}  // namespace weft::core
