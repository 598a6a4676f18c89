// SPDX-License-Identifier: BSD-3-Clause
// Fibers alone: turns, signals, ends, exceptions, stacks.
#include "weft/fiber.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/time_limit.hpp"
#include "support/waiting.hpp"
#include "weft/fiber_sync.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr std::uint32_t many = test::under_sanitizer ? 200 : 10'000;

TEST(fiber, runs_and_is_joined_by_a_thread_and_by_a_fiber) {
  fiber_scheduler fibers{{.workers = 2}};
  int by_thread = 0;
  fibers.spawn([&] { by_thread = 1; }).join();
  EXPECT_EQ(by_thread, 1);
  int by_fiber = 0;
  fiber outer = fibers.spawn(
      [&] {
        fiber inner = fibers.spawn([&] { by_fiber = 1; }, {.worker = 1});
        inner.join();
        EXPECT_EQ(by_fiber, 1);
        EXPECT_FALSE(inner.is_joinable());
      },
      {.worker = 0});
  EXPECT_TRUE(outer.is_joinable());
  outer.join();
  EXPECT_EQ(by_fiber, 1);
  EXPECT_EQ(fibers.alive(), 0U);
}

TEST(fiber, of_one_worker_take_turns_and_run_one_at_a_time) {
  fiber_scheduler fibers;
  std::vector<int> order;
  fibers
      .spawn([&] {
        std::vector<fiber> all;
        for (int i = 0; i < 100; ++i) {
          all.push_back(fibers.spawn([&, i] {
            for (int round = 0; round < 3; ++round) {
              order.push_back(i);
              this_fiber::yield();
            }
          }));
        }
      })
      .join();
  ASSERT_EQ(order.size(), 300U);
  std::array<int, 100> last_round_of{};
  for (std::size_t at = 0; at < order.size(); ++at) {
    // Nobody is a whole round ahead of another one.
    const int round = ++last_round_of[static_cast<std::size_t>(order[at])];
    EXPECT_LE(round, static_cast<int>(at / 100) + 2) << at;
  }
}

TEST(fiber, waits_until_it_is_signalled_and_a_signal_before_counts) {
  fiber_scheduler fibers{{.workers = 2}};
  test::published<int> step;
  fiber waits = fibers.spawn(
      [&] {
        while (step.value() == 0) this_fiber::wait();
        step.publish(2);
      },
      {.worker = 0});
  fibers
      .spawn(
          [&] {
            step.publish(1);
            waits.ref().signal();
          },
          {.worker = 1})
      .join();
  waits.join();
  EXPECT_EQ(step.value(), 2);
  fibers
      .spawn([] {
        this_fiber::self().signal();
        this_fiber::wait();
      })
      .join();
}

TEST(fiber, signals_among_threads_and_workers_are_never_lost) {
  fiber_scheduler fibers{{.workers = 3}};
  constexpr std::uint64_t rounds = test::under_sanitizer ? 300 : 20'000;
  struct side {
    test::published<std::uint64_t> got;
    fiber_ref ref;
  };
  constexpr std::size_t pairs = 70;  // more than a word has bits
  std::vector<side> sides(2 * pairs);
  std::vector<fiber> all;
  test::flag go;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    all.push_back(fibers.spawn([&, i] {
      while (!go.is_raised()) this_fiber::wait();
      side& mine = sides[i];
      side& other = sides[i ^ 1];
      for (std::uint64_t round = 1; round <= rounds / pairs; ++round) {
        if (i % 2 == 0) {
          other.got.publish(round);
          other.ref.signal();
          while (mine.got.value() != round) this_fiber::wait();
        } else {
          while (mine.got.value() != round) this_fiber::wait();
          other.got.publish(round);
          other.ref.signal();
        }
      }
    }));
    sides[i].ref = all.back().ref();
  }
  go.raise();
  for (const side& each : sides) each.ref.signal();
  for (fiber& each : all) each.join();
}

TEST(fiber, gives_what_it_threw_to_who_joins_it) {
  fiber_scheduler fibers;
  fiber throws = fibers.spawn([] { throw std::runtime_error{"the text"}; });
  try {
    throws.join();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& thrown) {
    EXPECT_STREQ(thrown.what(), "the text");
  }
}

TEST(fiber, may_be_suspended_while_it_handles_an_exception) {
  fiber_scheduler fibers;
  const auto handle = [](int number) {
    for (int round = 0; round < 20; ++round) {
      try {
        throw std::runtime_error{std::to_string(number)};
      } catch (const std::runtime_error& mine) {
        this_fiber::yield();
        EXPECT_EQ(mine.what(), std::to_string(number));
        try {
          throw;
        } catch (const std::exception& again) {
          this_fiber::yield();
          EXPECT_EQ(again.what(), std::to_string(number));
        }
      }
      EXPECT_EQ(std::uncaught_exceptions(), 0);
    }
  };
  std::vector<fiber> all;
  for (int i = 0; i < 10; ++i) all.push_back(fibers.spawn([&, i] { handle(i); }));
  for (fiber& each : all) each.join();
}

TEST(fiber, many_wait_at_once_and_their_slots_are_used_again) {
  fiber_scheduler fibers{{.workers = 2, .stack_bytes = 16384, .guarded_stacks = 10}};
  for (int round = 0; round < 3; ++round) {
    test::tally<std::uint32_t> waiting;
    test::flag over;
    std::vector<fiber> all;
    for (std::uint32_t i = 0; i < many; ++i) {
      all.push_back(fibers.spawn([&] {
        waiting.add();
        while (!over.is_raised()) this_fiber::wait();
      }));
    }
    test::time_limit limit;
    while (waiting.value() != many && !limit.is_over()) std::this_thread::yield();
    EXPECT_EQ(waiting.value(), many);
    EXPECT_EQ(fibers.alive(), many);
    over.raise();
    for (const fiber& each : all) each.ref().signal();
    for (fiber& each : all) each.join();
    EXPECT_EQ(fibers.alive(), 0U);
  }
}

TEST(fiber, a_signal_for_one_that_has_ended_disturbs_nobody_who_comes_after_it) {
  fiber_scheduler fibers;
  const fiber_ref gone = [&] {
    fiber first = fibers.spawn([] {});
    const fiber_ref out = first.ref();
    first.join();
    return out;
  }();
  test::flag over;
  std::thread signals{[&] {
    while (!over.is_raised()) gone.signal();
  }};
  for (std::uint32_t i = 0; i < many; ++i) {
    std::uint32_t sum = 0;
    fibers
        .spawn([&sum, i] {
          sum += i;
          this_fiber::yield();
          sum += 1;
        })
        .join();
    EXPECT_EQ(sum, i + 1);
  }
  over.raise();
  signals.join();
}

TEST(fiber, that_is_detached_goes_on_alone) {
  fiber_scheduler fibers;
  test::flag ran;
  fibers
      .spawn([&] {
        this_fiber::yield();
        ran.raise();
      })
      .detach();
  test::time_limit limit;
  while (fibers.alive() != 0 && !limit.is_over()) std::this_thread::yield();
  EXPECT_TRUE(ran.is_raised());
  EXPECT_EQ(fibers.alive(), 0U);
}

TEST(fiber, keeps_its_stack_and_floating_point_numbers_over_switches) {
  fiber_scheduler fibers;
  std::vector<fiber> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(fibers.spawn([i] {
      std::array<double, 100> numbers;
      for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = i + 0.25 * static_cast<double>(k);
      for (int round = 0; round < 10; ++round) {
        this_fiber::yield();
        for (std::size_t k = 0; k < numbers.size(); ++k) ASSERT_EQ(numbers[k], i + 0.25 * static_cast<double>(k));
      }
    }));
  }
  for (fiber& each : all) each.join();
}

TEST(fiber, options_out_of_range_and_calls_outside_of_fibers_are_refused) {
  const auto code_of = [](const auto& call) {
    try {
      call();
    } catch (const error& refused) {
      return refused.code();
    }
    return errc::none;
  };
  EXPECT_EQ(code_of([] { fiber_scheduler{{.workers = 0}}; }), errc::invalid_argument);
  EXPECT_EQ(code_of([] { fiber_scheduler{{.fibers_per_worker = 0}}; }), errc::invalid_argument);
  EXPECT_EQ(code_of([] { fiber_scheduler{{.fibers_per_worker = (1U << 24) + 1}}; }), errc::invalid_argument);
  EXPECT_EQ(code_of([] { fiber_scheduler{{.stack_bytes = 1000}}; }), errc::invalid_argument);
  EXPECT_EQ(code_of([] { this_fiber::wait(); }), errc::invalid_state);
  EXPECT_EQ(code_of([] { fiber{}.join(); }), errc::invalid_state);
  EXPECT_FALSE(this_fiber::is_one());
  EXPECT_EQ(this_fiber::self(), fiber_ref{});
  fiber_ref{}.signal();  // nobody: nothing happens
  fiber_scheduler fibers{{.fibers_per_worker = 1}};
  EXPECT_EQ(code_of([&] { static_cast<void>(fibers.spawn([] {}, {.worker = 7})); }), errc::invalid_argument);
  test::flag over;
  fiber first = fibers.spawn([&] {
    while (!over.is_raised()) this_fiber::wait();
  });
  EXPECT_EQ(code_of([&] { static_cast<void>(fibers.spawn([] {})); }), errc::out_of_memory);
  over.raise();
  first.ref().signal();
  first.join();
}

// However many are ready: each call of progress calls the hook once.
void yield_beside_a_hook(runtime& rt) {
  constexpr std::uint64_t fibers_max = 1024;
  constexpr std::uint64_t yields = 64;
  device& dev = rt.default_device();
  std::array<device*, 1> served{&dev};
  test::tally<std::uint64_t> calls;
  const hook counts = dev.add_hook([&] {
    calls.add();
    return hook_answer::no_progress;
  });
  fiber_scheduler fibers{{.stack_bytes = 16384, .guarded_stacks = 0, .devices = served}};
  fiber_event go;
  std::vector<fiber> all;
  std::uint64_t running = 0;
  std::uint64_t first = 0, last = 0;
  for (std::uint64_t i = 0; i < fibers_max; ++i) {
    all.push_back(fibers.spawn([&] {
      go.wait();
      if (++running == fibers_max) first = calls.value();
      while (running < fibers_max) this_fiber::yield();
      for (std::uint64_t k = 0; k < yields; ++k) this_fiber::yield();
      if (running++ == fibers_max) last = calls.value();
    }));
  }
  go.set();
  for (fiber& each : all) each.join();
  EXPECT_GE(last - first, (yields - 1) * fibers_max / 128);
}

TEST(fiber, gives_way_to_progress_after_each_64_switches) { test::local_job{1}.run(yield_beside_a_hook); }

}  // namespace
}  // namespace weft
