// SPDX-License-Identifier: BSD-3-Clause
// Time limits and stop tokens of the waits of fibers, and of threads that wait for the same.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/fiber.hpp"
#include "weft/fiber_sync.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

const wait_limits short_time{.timeout = 1ms};
constexpr std::chrono::hours long_time{1};

// Runs functions in fibers, or in threads.
class wait_limits_of : public ::testing::TestWithParam<bool> {
 protected:
  void run(
      const std::function<void()>& first, const std::function<void()>& second = [] {}) {
    if (GetParam()) {
      fiber_scheduler fibers;
      fiber one = fibers.spawn([&] { first(); });
      fiber two = fibers.spawn([&] { second(); });
      one.join();
      two.join();
    } else {
      std::thread other{second};
      first();
      other.join();
    }
  }
};

TEST_P(wait_limits_of, end_a_wait_for_an_event) {
  fiber_event event;
  run([&] {
    EXPECT_FALSE(event.wait(short_time));
    EXPECT_FALSE(event.wait({.timeout = 0ns}));
    EXPECT_FALSE(event.wait({.timeout = std::chrono::nanoseconds::min()}));
  });
  run([&] { EXPECT_TRUE(event.wait({.timeout = long_time})); }, [&] { event.set(); });
  run([&] { EXPECT_TRUE(event.wait({.timeout = 0ns})); });
}

TEST_P(wait_limits_of, end_a_wait_at_a_request_to_stop) {
  fiber_event event;
  std::stop_source stop;
  run([&] { EXPECT_FALSE(event.wait({.timeout = long_time, .stop = stop.get_token()})); },
      [&] { EXPECT_TRUE(stop.request_stop()); });
  run([&] { EXPECT_FALSE(event.wait({.stop = stop.get_token()})); });
  run([&] { EXPECT_FALSE(this_fiber::sleep_for(long_time, stop.get_token())); });
}

TEST_P(wait_limits_of, let_a_request_to_stop_interrupt_a_sleep) {
  std::stop_source stop;
  run([&] { EXPECT_FALSE(this_fiber::sleep_for(long_time, stop.get_token())); },
      [&] { EXPECT_TRUE(stop.request_stop()); });
  run([&] { this_fiber::sleep_for(1ms); });
  run([&] { EXPECT_TRUE(this_fiber::sleep_for(1ms, std::stop_token{})); });
}

TEST_P(wait_limits_of, leave_the_line_of_a_mutex_to_the_next) {
  fiber_mutex mutex;
  mutex.lock();
  test::flag has_left;
  run(
      [&] {
        EXPECT_FALSE(mutex.try_lock(short_time));
        has_left.raise();
      },
      [&] {
        EXPECT_FALSE(mutex.try_lock(short_time));
        while (!has_left.is_raised()) this_fiber::yield();
        mutex.unlock();
        EXPECT_TRUE(mutex.try_lock(short_time));
      });
  run([&] { EXPECT_TRUE(mutex.try_lock({.timeout = long_time})); }, [&] { mutex.unlock(); });
  mutex.unlock();
}

TEST_P(wait_limits_of, of_a_condition_lock_again) {
  fiber_mutex mutex;
  fiber_condition changed;
  bool is_changed = false;
  run([&] {
    std::unique_lock lock{mutex};
    EXPECT_FALSE(changed.wait(lock, short_time));
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(changed.wait(
        lock, [&] { return is_changed; }, short_time));
  });
  run(
      [&] {
        std::unique_lock lock{mutex};
        EXPECT_TRUE(changed.wait(lock, [&] { return is_changed; }, {.timeout = long_time}));
      },
      [&] {
        const std::unique_lock lock{mutex};
        is_changed = true;
        changed.notify_all();
      });
}

TEST_P(wait_limits_of, take_an_arrival_at_a_barrier_back) {
  fiber_barrier barrier{2};
  run([&] { EXPECT_FALSE(barrier.arrive_and_wait(short_time)); });
  const auto arrive = [&] { EXPECT_TRUE(barrier.arrive_and_wait({.timeout = long_time})); };
  run(arrive, arrive);
  run(arrive, [&] { barrier.arrive_and_wait(); });
}

TEST_P(wait_limits_of, leave_the_result_to_a_later_get) {
  fiber_promise<int> promise;
  fiber_future<int> future = promise.future();
  run([&] { EXPECT_FALSE(future.wait(short_time)); });
  run([&] { EXPECT_TRUE(future.wait({.timeout = long_time})); }, [&] { promise.set_value(5); });
  EXPECT_EQ(future.get(), 5);
}

TEST_P(wait_limits_of, leave_a_fiber_joinable) {
  fiber_scheduler others;
  fiber_event event;
  std::stop_source stop;
  fiber waits = others.spawn([&] { event.wait(); });
  run([&] {
    EXPECT_FALSE(waits.join(short_time));
    EXPECT_FALSE(waits.join({.timeout = 0ns}));
  });
  run([&] { EXPECT_FALSE(waits.join({.timeout = long_time, .stop = stop.get_token()})); },
      [&] { EXPECT_TRUE(stop.request_stop()); });
  EXPECT_TRUE(waits.is_joinable());
  run([&] { EXPECT_TRUE(waits.join({.timeout = long_time})); }, [&] { event.set(); });
  EXPECT_FALSE(waits.is_joinable());
  run([&] { EXPECT_THROW(static_cast<void>(waits.join(short_time)), error); });
}

TEST_P(wait_limits_of, let_a_join_take_the_exception_once_the_fiber_has_ended) {
  fiber_scheduler others;
  fiber_event event;
  fiber throws = others.spawn([&] {
    event.wait();
    throw std::runtime_error{"of the fiber"};
  });
  run([&] {
    EXPECT_FALSE(throws.join(short_time));
    event.set();
    EXPECT_THROW(static_cast<void>(throws.join({.timeout = long_time})), std::runtime_error);
  });
  EXPECT_FALSE(throws.is_joinable());
}

TEST_P(wait_limits_of, of_a_join_let_the_fiber_be_detached_or_joined_without_any) {
  fiber_scheduler others;
  fiber_event event;
  fiber left = others.spawn([&] { event.wait(); });
  fiber joined = others.spawn([&] { event.wait(); });
  run([&] {
    EXPECT_FALSE(left.join(short_time));
    EXPECT_FALSE(joined.join(short_time));
    left.detach();
    event.set();
    joined.join();
  });
  EXPECT_TRUE(test::eventually([&] { return others.alive() == 0; }));
}

TEST_P(wait_limits_of, race_with_the_end_of_a_fiber) {
  fiber_scheduler others{{.workers = 2}};
  for (int i = 0; i < 200; ++i) {
    fiber_event event;
    fiber ends = others.spawn([&] { event.wait(); });
    // Mostly without any time, so that the end often finds a waiter that is about to take itself out.
    const wait_limits limits{.timeout = std::chrono::microseconds{i % 4 == 0 ? i : 0}};
    run([&] {
      event.set();
      while (!ends.join(limits)) {
      }
    });
    EXPECT_FALSE(ends.is_joinable());
  }
  EXPECT_EQ(others.alive(), 0U);
}

TEST_P(wait_limits_of, race_with_the_event) {
  for (int i = 0; i < 200; ++i) {
    fiber_mutex mutex;
    mutex.lock();
    bool has = false;
    run([&] { has = mutex.try_lock({.timeout = std::chrono::microseconds{i}}); }, [&] { mutex.unlock(); });
    EXPECT_EQ(mutex.try_lock(), !has);
  }
}

INSTANTIATE_TEST_SUITE_P(fibers_and_threads, wait_limits_of, ::testing::Bool(),
                         [](const auto& of) { return std::string{of.param ? "fibers" : "threads"}; });

TEST(this_fiber_wait, ends_at_its_limits) {
  fiber_scheduler fibers;
  fiber waits = fibers.spawn([] {
    EXPECT_FALSE(this_fiber::wait({.timeout = 0ns}));
    while (this_fiber::wait(short_time)) {
    }
    this_fiber::self().signal();
    EXPECT_TRUE(this_fiber::wait({.timeout = long_time}));
  });
  waits.join();
  EXPECT_THROW(static_cast<void>(this_fiber::wait(short_time)), error);
}

TEST(wait_limits, of_a_thousand_fibers_are_reached) {
  fiber_scheduler fibers{{.workers = 2}};
  fiber_event never;
  std::vector<fiber> all;
  for (int i = 0; i < 1000; ++i) {
    all.push_back(fibers.spawn([&, i] { EXPECT_FALSE(never.wait({.timeout = std::chrono::microseconds{i}})); }));
  }
  for (fiber& each : all) each.join();
}

}  // namespace
}  // namespace weft
