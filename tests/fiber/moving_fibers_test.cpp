// SPDX-License-Identifier: BSD-3-Clause
// Waits of fibers that move between the threads of another scheduler (weft/suspender.hpp). Each of its threads has a
// suspender of its own.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/moving_scheduler.hpp"
#include "support/waiting.hpp"
#include "weft/fiber.hpp"
#include "weft/fiber_sync.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t repeats = test::under_sanitizer ? 50 : 500;

TEST(moving_fibers, wait_at_a_barrier_and_for_a_mutex) {
  constexpr std::uint64_t count = 8;
  fiber_barrier barrier{count};
  fiber_mutex mutex;
  std::uint64_t sum = 0;
  const auto work = [&] {
    for (std::uint64_t i = 1; i <= repeats; ++i) {
      {
        const std::unique_lock lock{mutex};
        ++sum;
      }
      barrier.arrive_and_wait();
      EXPECT_EQ(sum, i * count);
      barrier.arrive_and_wait();
    }
  };
  const std::uint64_t moves = test::moving_scheduler::run(std::vector<std::function<void()>>(count, work));
  EXPECT_GE(moves, repeats);
}

TEST(moving_fibers, end_waits_at_their_limits) {
  fiber_event never;
  std::stop_source stop;
  std::uint64_t ended = 0;
  const std::uint64_t moves = test::moving_scheduler::run({
      [&] {
        for (int i = 0; i < 20; ++i) EXPECT_FALSE(never.wait({.timeout = 1ms}));
        EXPECT_TRUE(stop.request_stop());
      },
      [&] {
        EXPECT_FALSE(never.wait({.stop = stop.get_token()}));
        ++ended;
      },
      [] { this_fiber::sleep_for(1ms); },
  });
  EXPECT_EQ(ended, 1U);
  // A wait whose limit has passed before it looks does not suspend, so the number of moves is the machine's.
  EXPECT_GE(moves, 1U);
}

}  // namespace
}  // namespace weft
