// SPDX-License-Identifier: BSD-3-Clause
// How often fibers in `device::wait` test their conditions: they are suspended until a signal where a worker serves the
// device.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/clock.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr std::uint64_t fibers_of_test = 100;
// At the beginning, after a call of progress, after a yield, before the fiber is suspended, after the signal; and as
// much again, as other fibers and threads may be in the way.
constexpr std::uint64_t looks_max = 10;

void wait_one_after_the_other(runtime& rt) {
  // No time limit is reached, so that nothing but signals ends a wait.
  const base::set_clock stands_still;
  device& dev = rt.default_device();
  const std::array<device*, 1> served{&dev};
  std::deque<counter> arrived;
  std::vector<registration> registered;
  for (std::uint64_t i = 0; i < fibers_of_test; ++i) {
    arrived.emplace_back(rt);
    registered.push_back(rt.register_completion(arrived.back(), {.id = static_cast<std::uint32_t>(i + 1)}));
  }
  test::tally<> looks, begun, ended;
  fiber_scheduler fibers{{.devices = served}};
  std::vector<fiber> all;
  for (counter& mine : arrived) {
    all.push_back(fibers.spawn([&] {
      begun.add();
      EXPECT_TRUE(dev.wait(mine, [&] {
        looks.add();
        return mine.value() != 0;
      }));
      ended.add();
    }));
  }
  EXPECT_TRUE(test::eventually([&] { return begun.value() == fibers_of_test; }));
  completion_queue posted{rt};
  for (std::uint64_t i = 0; i < fibers_of_test; ++i) {
    const std::uint64_t word = i;
    const remote_completion to{static_cast<std::uint32_t>(i + 1)};
    EXPECT_FALSE(test::post(dev, [&] { return dev.post_am(0, to, {&word, sizeof word}, posted); }).is_retry());
    EXPECT_TRUE(test::eventually([&] { return ended.value() == i + 1; }));
  }
  for (fiber& each : all) each.join();
  EXPECT_LE(looks.value(), looks_max * fibers_of_test);
}

TEST(fiber_looks, are_few_though_many_fibers_wait) { test::local_job{1}.run(wait_one_after_the_other); }

void wait_at_a_time(runtime& rt) {
  device& dev = rt.default_device();
  const std::array<device*, 1> served{&dev};
  fiber_scheduler fibers{{.devices = served}};
  const synchronizer never{rt};
  completion_queue queue{rt};
  bool is_over = false;
  std::vector<fiber> all;
  all.push_back(fibers.spawn([&] {
    EXPECT_FALSE(dev.wait(never, {.timeout = std::chrono::milliseconds{1}}));
    EXPECT_FALSE(dev.wait(queue, {.timeout = std::chrono::milliseconds{1}}).has_value());
    is_over = true;
  }));
  // Its condition changes without a signal.
  all.push_back(fibers.spawn([&] { EXPECT_TRUE(dev.wait(never, [&] { return is_over; })); }));
  all.push_back(fibers.spawn([&] {
    int calls = 0;
    const auto throws = [&] {
      if (++calls == 5) throw error{errc::invalid_state, "of the condition"};
      return false;
    };
    EXPECT_THROW(static_cast<void>(dev.wait(never, throws)), error);
  }));
  for (fiber& each : all) each.join();
}

TEST(fiber_looks, end_at_a_time_limit_by_a_change_without_a_signal_and_by_an_exception) {
  test::local_job{1}.run(wait_at_a_time);
}

void race_for_one_queue(runtime& rt) {
  device& dev = rt.default_device();
  const std::array<device*, 1> served{&dev};
  constexpr std::uint64_t rounds = test::under_sanitizer ? 200 : 2000;
  completion_queue queue{rt};
  test::tally<> taken;
  fiber_scheduler fibers{{.workers = 2, .devices = served}};
  std::vector<fiber> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(fibers.spawn([&] {
      for (std::uint64_t k = 0; k < rounds; ++k) {
        if (dev.wait(queue, {.timeout = test::patience}).has_value()) taken.add();
      }
    }));
  }
  for (std::uint64_t k = 0; k < 4 * rounds; ++k) {
    EXPECT_TRUE(test::eventually([&] { return queue.signal(completion_record{}) == completion::answer::taken; }));
  }
  for (fiber& each : all) each.join();
  EXPECT_EQ(taken.value(), 4 * rounds);
}

// Fibers announce themselves, fence and are suspended while another thread signals; fences of one worker serve fibers
// of the other.
void signal_meanwhile(runtime& rt) {
  // No time limit is reached, so that nothing but a signal ends a wait.
  const base::set_clock stands_still;
  device& dev = rt.default_device();
  const std::array<device*, 1> served{&dev};
  constexpr std::uint64_t rounds = test::under_sanitizer ? 50 : 500;
  constexpr std::uint64_t waiting = 16;
  std::deque<counter> awaited;
  for (std::uint64_t i = 0; i < waiting; ++i) awaited.emplace_back(rt);
  test::tally<> ended;
  fiber_scheduler fibers{{.workers = 2, .devices = served}};
  std::vector<fiber> all;
  for (counter& mine : awaited) {
    all.push_back(fibers.spawn([&] {
      for (std::uint64_t k = 0; k < rounds; ++k) {
        EXPECT_TRUE(dev.wait(mine, [&] { return mine.value() > k; }));
        ended.add();
      }
    }));
  }
  for (std::uint64_t k = 0; k < rounds; ++k) {
    for (counter& each : awaited) EXPECT_EQ(each.signal(completion_record{}), completion::answer::taken);
    EXPECT_TRUE(test::eventually([&] { return ended.value() == (k + 1) * waiting; }));
  }
  for (fiber& each : all) each.join();
}

TEST(fiber_looks, miss_no_signal_while_they_are_being_suspended) { test::local_job{1}.run(signal_meanwhile); }

TEST(fiber_looks, miss_no_record_of_a_queue) { test::local_job{1}.run(race_for_one_queue); }

// Fibers of two ranks wait at the barrier and for the ends of what they posted; workers make progress meanwhile.
void flush_and_barrier(runtime& rt) {
  constexpr std::uint64_t rounds = test::under_sanitizer ? 50 : 500;
  device& dev = rt.default_device();
  const std::array<device*, 1> served{&dev};
  counter arrived{rt};
  completion_queue over{rt};
  const registration registered = rt.register_completion(arrived, {.id = 1});
  rt.barrier();
  fiber_scheduler fibers{{.devices = served}};
  const std::uint32_t peer = 1 - rt.rank();
  fiber all = fibers.spawn([&] {
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      const auto post = [&] {
        return dev.post_am(peer, {1}, {&i, sizeof i}, over, {.complete_at = completion_level::delivered});
      };
      if (test::post(dev, post).is_posted()) {
        dev.flush(peer);
        EXPECT_TRUE(over.pop().has_value());
      }
      rt.barrier();
      EXPECT_EQ(arrived.value(), i);
      rt.barrier();
    }
  });
  all.join();
}

TEST(fiber_looks, of_a_flush_and_a_barrier_end_by_their_signals) { test::local_job{2}.run(flush_and_barrier); }

}  // namespace
}  // namespace weft
