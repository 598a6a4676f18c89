// SPDX-License-Identifier: BSD-3-Clause
// Coroutines on fibers: what coroutines of a fiber leave to be run next is run by that fiber, wherever others run
// meanwhile.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/last_error.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::local_job;

// How a coroutine lets other fibers run.
enum class letting { by_yield, by_wait_on_device, by_event, by_signal, by_move };

const char* name_of_letting(letting how) {
  switch (how) {
    case letting::by_yield: return "yield";
    case letting::by_wait_on_device: return "wait_on_device";
    case letting::by_event: return "event";
    case letting::by_signal: return "signal";
    case letting::by_move: return "move";
  }
  return "";
}

class await_fiber : public testing::TestWithParam<letting> {};

INSTANTIATE_TEST_SUITE_P(by, await_fiber,
                         testing::Values(letting::by_yield, letting::by_wait_on_device, letting::by_event,
                                         letting::by_signal, letting::by_move),
                         [](const auto& given) { return name_of_letting(given.param); });

TEST_P(await_fiber, continues_a_task_on_the_fiber_that_awaited_it) {
  local_job{1}.run([](runtime& rt) {
    constexpr std::uint64_t fiber_count = 4;
    const int rounds = test::messages_wake_sleepers() ? 200 : 20;
    device& dev = rt.default_device();
    std::array<device*, 1> served{&dev};
    fiber_scheduler fibers{{.workers = GetParam() == letting::by_move ? 2U : 1U, .devices = served}};
    fiber_local<std::uint64_t> number;
    counter never{rt};
    test::tally<std::uint64_t> on_another;

    const auto let_others_run = [&](std::uint64_t me, int round) {
      switch (GetParam()) {
        case letting::by_yield: this_fiber::yield(); break;
        case letting::by_wait_on_device: {
          int checks = 0;
          EXPECT_TRUE(dev.wait(never, [&] { return ++checks > 2; }, {.timeout = test::patience}));
          break;
        }
        case letting::by_event: {
          fiber_event happens;
          fiber other = fibers.spawn([&] { happens.set(); });
          happens.wait();
          other.join();
          break;
        }
        case letting::by_signal: {
          bool is_over = false;
          fiber other = fibers.spawn([&, waits = this_fiber::self()] {
            is_over = true;
            waits.signal();
          });
          while (!is_over) this_fiber::wait();
          other.join();
          break;
        }
        case letting::by_move:
          this_fiber::move_to((static_cast<std::uint32_t>(me) + static_cast<std::uint32_t>(round)) % 2);
          break;
      }
    };
    const auto inner = [&](std::uint64_t me, int round) -> task<int> {
      let_others_run(me, round);
      if (*number != me) on_another.add();
      co_return 1;
    };
    const auto outer = [&](std::uint64_t me) -> task<int> {
      int sum = 0;
      for (int round = 0; round < rounds; ++round) {
        sum += co_await inner(me, round);
        const auto [a, b] = co_await when_all(inner(me, round + 1), inner(me, round));
        sum += a + b;
        if (*number != me) on_another.add();
      }
      co_return sum;
    };
    std::vector<fiber> all;
    for (std::uint64_t me = 1; me <= fiber_count; ++me) {
      all.push_back(fibers.spawn([&, me] {
        *number = me;
        run_loop loop{dev};
        EXPECT_EQ(loop.run(outer(me)), 3 * rounds);
      }));
    }
    for (fiber& each : all) each.join();
    EXPECT_EQ(on_another.value(), 0U);
  });
}

// A fiber_mutex may be held while its fiber waits, so two fibers that run each other's coroutines wait for each other.
TEST(await_fiber, holds_a_mutex_over_an_await) {
  local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::array<device*, 1> served{&dev};
    fiber_scheduler fibers{{.devices = served}};
    fiber_mutex mutex;
    int held = 0;
    const auto inner = [&]() -> task<> {
      this_fiber::yield();
      co_return;
    };
    const auto outer = [&]() -> task<> {
      mutex.lock();
      ++held;
      co_await inner();
      EXPECT_EQ(held, 1);
      --held;
      mutex.unlock();
    };
    const auto work = [&] {
      run_loop loop{dev};
      for (int i = 0; i < 10; ++i) loop.run(outer());
    };
    fiber first = fibers.spawn(work), second = fibers.spawn(work);
    first.join();
    second.join();
  });
}

// What two fibers have left behind does not concern the coroutines that an executor resumes on a third one, nor those
// of a thread.
TEST(await_fiber, leaves_nothing_behind_for_other_fibers) {
  local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::array<device*, 1> served{&dev};
    fiber_scheduler fibers{{.devices = served}};
    const auto inner = [](bool yields) -> task<> {
      if (yields) this_fiber::yield();
      co_return;
    };
    const auto outer = [&](bool yields) -> task<> { co_await inner(yields); };
    const auto work = [&] {
      run_loop loop{dev};
      loop.run(outer(true));
    };
    fiber first = fibers.spawn(work), second = fibers.spawn(work);
    first.join();
    second.join();
    fibers
        .spawn([&] {
          run_loop loop{dev};
          loop.spawn(outer(false));
          for (int i = 0; i < 3; ++i) loop.run_ready([](std::coroutine_handle<> next) { next.resume(); });
          EXPECT_EQ(loop.spawned(), 0U);
        })
        .join();
  });
}

// Nor do they take stack from each other: each fiber's coroutines run one after the other on its own.
TEST(await_fiber, needs_no_stack_for_the_turns_of_other_fibers) {
  local_job{1}.run([](runtime& rt) {
    constexpr int rounds = 20'000;
    device& dev = rt.default_device();
    std::array<device*, 1> served{&dev};
    fiber_scheduler fibers{{.devices = served}};
    const auto inner = [](int value) -> task<int> {
      this_fiber::yield();
      co_return value;
    };
    const auto outer = [&]() -> task<int> {
      int sum = 0;
      for (int i = 0; i < rounds; ++i) sum += co_await inner(1);
      co_return sum;
    };
    std::vector<fiber> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(fibers.spawn([&] {
        run_loop loop{dev};
        EXPECT_EQ(loop.run(outer()), rounds);
      }));
    }
    for (fiber& each : all) each.join();
  });
}

// A report of a wrong use quotes the error that is on its way in this fiber, not the last one of its thread.
TEST(await_fiber, remembers_the_text_of_its_own_error) {
  struct yields_at_its_end {
    explicit yields_at_its_end(std::string& into) : text{&into} {}
    yields_at_its_end(const yields_at_its_end&) = delete;
    ~yields_at_its_end() {
      this_fiber::yield();
      const char* const last = base::uncaught_error();
      *text = last == nullptr ? "none" : last;
    }
    std::string* text;
  };
  fiber_scheduler fibers;
  std::array<std::string, 3> texts;
  std::vector<fiber> all;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    all.push_back(fibers.spawn([&, i] {
      try {
        const yields_at_its_end last{texts[i]};
        throw error{errc::invalid_state, std::to_string(i)};
      } catch (const error&) {
      }
    }));
  }
  for (fiber& each : all) each.join();
  EXPECT_EQ(texts, (std::array<std::string, 3>{"0", "1", "2"}));
}

}  // namespace
}  // namespace weft
