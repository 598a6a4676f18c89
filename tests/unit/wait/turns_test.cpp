// When a thread that waits gives way to others. What that brings is measured, not tested: `weft-perf latency --plain`.
#include "core/wait/turns.hpp"

#include <gtest/gtest.h>

namespace weft::core {
namespace {

TEST(turns, are_not_given_away_where_nobody_shares_the_processors) {
  turns all;
  const turns::given mine;
  EXPECT_FALSE(all.is_due(1'000'000, mine));
  all.use(true);
  EXPECT_FALSE(all.is_due(turns::first_look_count - 1, mine));
  EXPECT_TRUE(all.is_due(turns::first_look_count, mine));
}

// Looks are forgotten only where others have run, and that for so many times.
TEST(turns, of_one_wait_have_an_end) {
  turns all;
  all.use(true);
  turns::given mine;
  std::uint32_t looks = 0;
  std::uint64_t steps = 0;
  while (looks < 256) {
    looks = all.is_due(looks, mine) ? all.give_way(looks, mine) : looks + 1;
    ++steps;
    ASSERT_LE(steps, 256 + (turns::turns_max + 1) * (turns::lone_look_count + 1));
  }
  EXPECT_LE(mine.count, turns::turns_max);
  mine.count = turns::turns_max;
  mine.due = 0;
  EXPECT_EQ(all.give_way(7, mine), 7U);
  EXPECT_FALSE(all.is_due(1'000'000, mine));
}

}  // namespace
}  // namespace weft::core
