// SPDX-License-Identifier: BSD-3-Clause
// What fibers wait for each other with, among fibers of several workers and threads.
#include "weft/fiber_sync.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/fiber.hpp"

namespace weft {
namespace {

constexpr std::uint64_t repeats = test::under_sanitizer ? 50 : 1000;

TEST(fiber_mutex, is_held_by_one_at_a_time_over_waits) {
  fiber_scheduler fibers{{.workers = 2}};
  fiber_mutex mutex;
  std::uint64_t inside = 0;
  std::uint64_t sum = 0;
  const auto work = [&] {
    for (std::uint64_t i = 0; i < repeats; ++i) {
      const std::unique_lock lock{mutex};
      EXPECT_EQ(++inside, 1U);
      this_fiber::yield();
      --inside;
      ++sum;
    }
  };
  std::vector<fiber> all;
  for (int i = 0; i < 6; ++i) all.push_back(fibers.spawn(work));
  std::thread beside{work};
  for (fiber& each : all) each.join();
  beside.join();
  EXPECT_EQ(sum, 7 * repeats);
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
}

TEST(fiber_condition, hands_everything_on) {
  fiber_scheduler fibers{{.workers = 2}};
  fiber_mutex mutex;
  fiber_condition filled, emptied;
  std::deque<std::uint64_t> queue;
  std::uint64_t sum = 0;
  std::vector<fiber> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(fibers.spawn([&] {
      for (std::uint64_t k = 1; k <= repeats; ++k) {
        std::unique_lock lock{mutex};
        emptied.wait(lock, [&] { return queue.size() < 4; });
        queue.push_back(k);
        filled.notify_one();
      }
    }));
    all.push_back(fibers.spawn([&] {
      for (std::uint64_t k = 1; k <= repeats; ++k) {
        std::unique_lock lock{mutex};
        filled.wait(lock, [&] { return !queue.empty(); });
        sum += queue.front();
        queue.pop_front();
        emptied.notify_all();
      }
    }));
  }
  for (fiber& each : all) each.join();
  EXPECT_EQ(sum, 3 * repeats * (repeats + 1) / 2);
}

TEST(fiber_barrier, lets_nobody_through_before_all_have_come) {
  fiber_scheduler fibers{{.workers = 2}};
  constexpr std::uint32_t count = 10;
  fiber_barrier barrier{count};
  test::tally<> come;
  std::vector<fiber> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    all.push_back(fibers.spawn([&] {
      for (std::uint64_t round = 1; round <= repeats; ++round) {
        come.add();
        barrier.arrive_and_wait();
        EXPECT_GE(come.value(), round * count);
        barrier.arrive_and_wait();
      }
    }));
  }
  for (fiber& each : all) each.join();
  EXPECT_EQ(come.value(), repeats * count);
  EXPECT_THROW(fiber_barrier{0}, error);
}

TEST(fiber_event, is_seen_by_all_who_wait_and_who_come_later) {
  fiber_scheduler fibers{{.workers = 2}};
  fiber_event event;
  test::tally<int> seen;
  std::vector<fiber> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(fibers.spawn([&] {
      event.wait();
      seen.add();
    }));
  }
  EXPECT_FALSE(event.is_set());
  EXPECT_EQ(seen.value(), 0);
  event.set();
  event.set();
  event.wait();
  for (fiber& each : all) each.join();
  EXPECT_EQ(seen.value(), 10);
}

TEST(fiber_future, gives_a_value_an_exception_or_the_want_of_both) {
  fiber_scheduler fibers{{.workers = 2}};
  fiber_promise<std::string> text;
  fiber_future<std::string> later = text.future();
  EXPECT_FALSE(later.is_ready());
  fiber gives = fibers.spawn([&] { text.set_value("given"); });
  EXPECT_EQ(later.get(), "given");
  gives.join();
  EXPECT_THROW(static_cast<void>(later.get()), error);

  fiber_promise<void> fails;
  fiber_future<void> failure = fails.future();
  fibers.spawn([&] { fails.set_exception(std::make_exception_ptr(std::runtime_error{"it fails"})); }).join();
  EXPECT_TRUE(failure.is_ready());
  EXPECT_THROW(failure.get(), std::runtime_error);

  fiber_future<int> never;
  {
    const fiber_promise<int> gone;
    never = gone.future();
  }
  EXPECT_THROW(static_cast<void>(never.get()), error);
}

}  // namespace
}  // namespace weft
