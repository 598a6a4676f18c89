// When a waiting thread yields its core to others. What that brings is measured, not tested: `weft-perf latency
// --plain`.
// stages: release general asan
#include "core/wait/yield_policy.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "base/clock.hpp"

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

TEST(yield_policy, keeps_the_core_for_longer_after_each_long_yield) {
  using std::chrono::milliseconds;
  yield_policy all;
  base::clock::time_point now = base::clock::now();
  EXPECT_FALSE(all.keeps_core(now));
  for (std::uint32_t pauses = 1; pauses <= yield_policy::pauses_max; pauses *= 2) {
    now += milliseconds{5};
    all.note_long_yield(milliseconds{5}, now);
    EXPECT_TRUE(all.keeps_core(now + pauses * milliseconds{5} - milliseconds{1}));
    now += pauses * milliseconds{5};
    EXPECT_FALSE(all.keeps_core(now));
  }
  // A further one keeps it as long; one a long time afterwards is the first again.
  now += milliseconds{5};
  all.note_long_yield(milliseconds{5}, now);
  EXPECT_TRUE(all.keeps_core(now + milliseconds{319}));
  now += std::chrono::seconds{10};
  all.note_long_yield(milliseconds{5}, now);
  EXPECT_TRUE(all.keeps_core(now + milliseconds{4}));
  EXPECT_FALSE(all.keeps_core(now + milliseconds{5}));
}

TEST(yield_policy, begins_with_many_looks_where_no_yield_has_let_others_run) {
  EXPECT_EQ(yield_policy{}.begin().due, yield_policy::first_look_count);
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
