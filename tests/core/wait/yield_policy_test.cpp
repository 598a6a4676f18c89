// SPDX-License-Identifier: BSD-3-Clause
// When a waiting thread yields its core to others. What that brings is measured, not tested: `weft-perf latency
// --plain`.
// stages: release general asan
#include "core/wait/yield_policy.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "support/counted_yields.hpp"

namespace weft::core {
namespace {

TEST(yield_policy, never_yields_where_nobody_shares_the_processors) {
  yield_policy all;
  const yield_policy::wait_state mine;
  EXPECT_FALSE(all.is_due(1'000'000, mine));
  EXPECT_TRUE(all.is_due(yield_policy::first_look_count, mine, true)) << "it gives way to threads of its own rank";
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

TEST(yield_policy, a_thread_yields_after_so_many_waits) {
  const auto count_yields = [] {
    std::vector<std::uint32_t> out;
    for (std::uint32_t wait = 1; wait <= 3 * yield_policy::waits_before_yield; ++wait)
      if (yield_policy::count_wait()) out.push_back(wait);
    return out;
  };
  std::vector<std::uint32_t> yields;
  std::thread{[&] { yields = count_yields(); }}.join();  // a thread that has not waited yet
  constexpr std::uint32_t each = yield_policy::waits_before_yield;
  EXPECT_EQ(yields, (std::vector<std::uint32_t>{each, 2 * each, 3 * each}));
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

// The tests of one wait that find nothing, and after which of them the thread has yielded.
std::vector<std::uint32_t> yields_of_tests(yield_policy& all, detail::test_loop& tests, std::uint32_t count) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t test = 1; test <= count; ++test) {
    if (--tests.left >= 0) continue;
    const std::uint64_t before = test::yields_of_this_thread();
    all.rest_between_tests(tests);
    if (test::yields_of_this_thread() != before) out.push_back(test);
  }
  return out;
}

std::vector<std::uint32_t> counted_on(std::uint32_t first, std::uint32_t step, std::uint32_t last) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t each = first; each <= last; each += step) out.push_back(each);
  return out;
}

std::vector<std::uint32_t> joined(std::vector<std::uint32_t> first, const std::vector<std::uint32_t>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(yield_policy, tests_yield_by_the_counts_of_other_waits_and_then_instead_of_sleep) {
  const base::set_clock stands_still;  // so that no yield seems to let another thread run
  yield_policy all;
  all.use(true);
  for (int wait = 0; wait < 3; ++wait) {
    detail::test_loop tests;
    EXPECT_EQ(yields_of_tests(all, tests, 1000), joined(counted_on(32, 8, 256), counted_on(320, 64, 1000)));
  }
}

TEST(yield_policy, tests_yield_to_the_threads_of_their_process_where_waits_would_sleep) {
  yield_policy all;
  detail::test_loop tests;
  EXPECT_EQ(yields_of_tests(all, tests, 1000), counted_on(256, 64, 1000));
}

TEST(yield_policy, tests_that_let_others_run_yield_soon) {
  base::set_clock moves;
  const test::at_each_yield others_run{[&] { moves.advance(std::chrono::microseconds{2}); }};
  yield_policy all;
  all.use(true);
  detail::test_loop tests;
  EXPECT_EQ(yields_of_tests(all, tests, 3000), counted_on(32, 4, 3000));
  // The next wait knows, and ends with the test that finds something.
  for (int wait = 0; wait < 3; ++wait) {
    tests.left = detail::test_loop::ended;
    EXPECT_EQ(yields_of_tests(all, tests, 9), counted_on(1, 4, 9));
  }
}

// So many yields that another wait sleeps.
TEST(yield_policy, tests_yield_however_long_they_wait) {
  base::set_clock moves;
  const test::at_each_yield others_run{[&] { moves.advance(std::chrono::microseconds{2}); }};
  yield_policy all;
  all.use(true);
  detail::test_loop tests;
  const std::uint32_t last = 32 + 4 * (yield_policy::yields_max - 1);
  // The step after the last one finds that there were enough: the thread yields again once others would sleep.
  EXPECT_EQ(yields_of_tests(all, tests, last + 1000),
            joined(counted_on(32, 4, last), counted_on(last + 256, 4, last + 1000)));
}

TEST(yield_policy, tests_keep_the_core_after_a_long_yield_until_others_would_sleep) {
  base::set_clock moves;
  const test::at_each_yield others_compute{[&] { moves.advance(std::chrono::milliseconds{5}); }};
  yield_policy all;
  all.use(true);
  detail::test_loop tests;
  EXPECT_EQ(yields_of_tests(all, tests, 400), joined({32}, counted_on(256, 4, 400)));
}

}  // namespace
}  // namespace weft::core
