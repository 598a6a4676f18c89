// SPDX-License-Identifier: BSD-3-Clause
// A fiber that was woken may end, and its scheduler be destroyed, while the thread that woke it is still inside the
// call.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/fiber.hpp"
#include "weft/fiber_sync.hpp"

namespace weft {
namespace {

constexpr int end_rounds = test::under_sanitizer ? 100 : 1000;

TEST(fiber_end, a_scheduler_may_be_destroyed_while_the_thread_that_has_woken_its_last_fiber_is_still_inside) {
  for (int round = 0; round < end_rounds; ++round) {
    fiber_event event;
    auto fibers = std::make_unique<fiber_scheduler>(fiber_scheduler_options{.fibers_per_worker = 64});
    fiber waits = fibers->spawn([&] { event.wait(); });
    std::thread sets{[&] { event.set(); }};
    waits.join();
    fibers.reset();
    sets.join();
  }
}

TEST(fiber_end, a_scheduler_may_be_destroyed_while_a_fiber_of_another_one_ends_that_its_last_fiber_joined) {
  fiber_scheduler others;
  for (int round = 0; round < end_rounds; ++round) {
    auto fibers = std::make_unique<fiber_scheduler>(fiber_scheduler_options{.fibers_per_worker = 64});
    fibers->spawn([&] { others.spawn([] { this_fiber::yield(); }).join(); }).join();
    fibers.reset();
  }
}

TEST(fiber_end, a_signal_for_a_scheduler_that_is_gone_reaches_none_that_comes_after_it) {
  fiber_ref gone;
  {
    fiber_scheduler fibers{{.fibers_per_worker = 64}};
    fiber ends = fibers.spawn([] {});
    gone = ends.ref();
    ends.join();
  }
  gone.signal();
  for (int round = 0; round < 10; ++round) {
    fiber_scheduler fibers{{.fibers_per_worker = 64}};
    gone.signal();
    EXPECT_NE(gone, fibers
                        .spawn([&] {
                          EXPECT_NE(gone, this_fiber::self());
                          gone.signal();
                          this_fiber::yield();
                        })
                        .ref());
  }
  gone.signal();
}

// A fiber goes to and fro between the first and the last worker: each ends after it has begun the next one, so one is
// alive at every moment.
void go_on(fiber_scheduler& fibers, bool to_last, const test::flag& over) {
  if (over.is_raised()) return;
  fibers
      .spawn([&fibers, to_last, &over] { go_on(fibers, !to_last, over); },
             {.worker = to_last ? fibers.workers() - 1 : 0})
      .detach();
}

void look_at(const fiber_scheduler& fibers) {
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most = 0;
  for (int look = 0; look < 200 * end_rounds && least != 0; ++look) {
    least = std::min(least, fibers.alive());
    most = std::max(most, fibers.alive());
    if (look % 64 == 0) std::this_thread::yield();
  }
  EXPECT_GE(least, 1U);
  EXPECT_LT(most, 1'000'000U);
}

TEST(fiber_end, alive_is_zero_only_where_no_fiber_was_left_at_some_moment) {
  fiber_scheduler fibers{{.workers = 200, .fibers_per_worker = 64}};
  test::flag over;
  fibers.spawn([&] { go_on(fibers, false, over); }).detach();
  look_at(fibers);
  over.raise();
  EXPECT_TRUE(test::eventually([&] { return fibers.alive() == 0; }));
}

// With fibers that end at another worker than the one that has begun them.
TEST(fiber_end, alive_is_zero_only_where_no_fiber_was_left_also_when_fibers_move) {
  fiber_scheduler fibers{{.workers = 200, .fibers_per_worker = 64}};
  test::flag over;
  fiber stays = fibers.spawn(
      [&] {
        while (!over.is_raised()) fibers.spawn([] { this_fiber::move_to(199); }, {.worker = 0}).join();
      },
      {.worker = 100});
  look_at(fibers);
  over.raise();
  stays.join();
  EXPECT_EQ(fibers.alive(), 0U);
}

// A thread sets the condition for which a fiber waits, and then signals. The fiber may have seen it, and everything may
// be gone, before the signal begins, and before it ends.
TEST(fiber_end, a_thread_may_signal_while_fiber_and_scheduler_end) {
  for (int round = 0; round < end_rounds; ++round) {
    test::flag is_set;
    auto fibers = std::make_unique<fiber_scheduler>(fiber_scheduler_options{.workers = 2, .fibers_per_worker = 64});
    fiber waits = fibers->spawn([&] {
      while (!is_set.is_raised()) this_fiber::wait();
    });
    const fiber_ref ref = waits.ref();
    std::array<std::thread, 2> signal;
    for (std::thread& each : signal) {
      each = std::thread{[&] {
        is_set.raise();
        for (int i = 0; i < 20; ++i) ref.signal();
      }};
    }
    waits.join();
    fibers.reset();
    for (std::thread& each : signal) each.join();
  }
}

// Fibers of another scheduler signal.
TEST(fiber_end, fibers_may_signal_one_of_another_scheduler_while_that_ends) {
  fiber_scheduler others{{.workers = 2}};
  for (int round = 0; round < end_rounds; ++round) {
    test::flag is_set;
    auto fibers = std::make_unique<fiber_scheduler>(fiber_scheduler_options{.fibers_per_worker = 64});
    fiber waits = fibers->spawn([&] {
      while (!is_set.is_raised()) this_fiber::wait();
    });
    std::vector<fiber> signal;
    for (int i = 0; i < 3; ++i) {
      signal.push_back(others.spawn([&, ref = waits.ref()] {
        is_set.raise();
        ref.signal();
        this_fiber::yield();
        ref.signal();
      }));
    }
    waits.join();
    fibers.reset();
    for (fiber& each : signal) each.join();
  }
}

}  // namespace
}  // namespace weft
