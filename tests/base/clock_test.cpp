// SPDX-License-Identifier: BSD-3-Clause
// The clock that tests set (src/base/clock.hpp).
#include "base/clock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/futex.hpp"
#include "boot/backends.hpp"
#include "support/waiting.hpp"
#include "weft/error.hpp"

namespace weft::base {
namespace {

using std::chrono::hours;

TEST(clock, stands_still_while_it_is_set_and_moves_by_hand) {
  const clock::time_point before = clock::now();
  {
    set_clock time;
    const clock::time_point begin = clock::now();
    EXPECT_GE(begin, before);
    EXPECT_EQ(clock::now(), begin);
    time.advance(hours{3});
    EXPECT_EQ(clock::now() - begin, hours{3});
  }
  EXPECT_LT(clock::now() - before, hours{3});
  EXPECT_TRUE(test::eventually([&] { return clock::now() > before; }));
}

// No system call notices that a test moves the clock on.
TEST(clock, lets_system_calls_sleep_for_a_moment_only_while_it_is_set) {
  EXPECT_GT(clock::left_to_sleep(clock::now() + hours{1}), std::chrono::minutes{59});
  set_clock time;
  EXPECT_LE(clock::left_to_sleep(clock::now() + hours{1}), std::chrono::milliseconds{1});
  EXPECT_LE(clock::left_to_sleep(clock::time_point::max()), std::chrono::milliseconds{1});
  const std::atomic<std::uint32_t> word{0};
  const clock::time_point end = clock::now() + hours{1};
  std::uint32_t sleeps = 0;
  for (; clock::now() < end; ++sleeps) {
    sleep_while({&word, 0}, {}, end);
    if (sleeps == 2) time.advance(hours{1});
  }
  EXPECT_EQ(sleeps, 3U);
}

TEST(clock, ends_a_fence_that_ranks_are_missing_in) {
  const auto job = boot::make_local_job(2, hours{1});
  set_clock time;
  std::string text;
  std::atomic<bool> is_over{false};
  std::jthread waits{[&] {
    try {
      job[0]->fence();
    } catch (const error& refused) {
      text = refused.what();
    }
    // [clock_test.over] release -> [clock_test.look]: the text.
    is_over.store(true, std::memory_order_release);
  }};
  EXPECT_TRUE(test::eventually([&] {
    time.advance(std::chrono::minutes{10});
    // [clock_test.look] acquire <- [clock_test.over]: the text.
    return is_over.load(std::memory_order_acquire);
  }));
  EXPECT_NE(text.find("for ranks 1"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft::base
