// SPDX-License-Identifier: BSD-3-Clause
// Events that tasks wait for when they are destroyed, and events that lie in frames of destroyed tasks.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::eventually;
using test::local_job;

struct counts_its_end {
  explicit counts_its_end(int& of) : count{&of} {}
  counts_its_end(const counts_its_end&) = delete;
  ~counts_its_end() { ++*count; }
  int* count;
};

// Starts `begun` and destroys it where it waits: a task that throws ends the run.
void start_and_destroy(run_loop& loop, task<> begun) {
  const auto throws = [](run_loop& in) -> task<> {
    co_await in.schedule();
    throw std::runtime_error{"on purpose"};
  };
  loop.spawn(throws(loop));
  EXPECT_THROW(loop.run(std::move(begun)), std::runtime_error);
}

TEST(event, gives_up_a_coroutine_that_is_destroyed_and_keeps_the_others_in_their_order) {
  local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    event ready{loop};
    int gone = 0;
    std::vector<int> order;
    const auto waits = [&](int me) -> task<> {
      const counts_its_end mark{gone};
      co_await ready;
      order.push_back(me);
    };
    for (int me = 0; me < 3; ++me) loop.spawn(waits(me));
    loop.run_ready();
    start_and_destroy(loop, waits(3));
    EXPECT_EQ(gone, 1) << "nothing refers to its frame";
    for (int me = 4; me < 6; ++me) loop.spawn(waits(me));
    loop.run_ready();
    start_and_destroy(loop, waits(6));
    EXPECT_EQ(gone, 2);
    EXPECT_FALSE(ready.is_set());
    ready.set();
    EXPECT_TRUE(loop.run({.timeout = test::patience}));
    EXPECT_EQ(order, (std::vector{0, 1, 2, 4, 5}));
    EXPECT_EQ(gone, 7);
  });
}

TEST(event, of_the_frame_that_waits_for_it_goes_with_the_frame) {
  local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    run_loop loop{dev};
    int gone = 0;
    const auto wait = [](event& on) -> task<> { co_await on; };
    const auto receive = [&](std::vector<std::byte>& into) -> task<> {
      static_cast<void>(co_await loop.post_recv(0, into, {.tag = 9}));
    };
    const auto alone = [&]() -> task<> {
      const counts_its_end mark{gone};
      event own{loop};
      co_await own;
    };
    const auto by_parts = [&]() -> task<> {
      const counts_its_end mark{gone};
      event own{loop};
      static_cast<void>(co_await when_all(wait(own), wait(own)));
    };
    const auto with_a_receive = [&]() -> task<> {
      const counts_its_end mark{gone};
      event own{loop};
      std::vector<std::byte> buffer(100);
      static_cast<void>(co_await when_all(wait(own), receive(buffer)));
    };
    start_and_destroy(loop, alone());
    EXPECT_EQ(gone, 1);
    start_and_destroy(loop, by_parts());
    EXPECT_EQ(gone, 2);
    start_and_destroy(loop, with_a_receive());
    EXPECT_EQ(gone, 2) << "its receive was taken back, and the loop has not run since";
    EXPECT_TRUE(eventually(dev, [&] {
      loop.run_ready();
      return gone == 3;
    }));
  });
}

// The loop destroys frames of destroyed tasks at its end; what lies in them may be an event of that loop.
TEST(event, of_an_abandoned_frame_goes_with_its_loop) {
  local_job{1}.run([](runtime& rt) {
    int gone = 0;
    {
      run_loop loop{rt.default_device()};
      const auto receives = [&]() -> task<> {
        const counts_its_end mark{gone};
        const event own{loop};
        std::vector<std::byte> buffer(100);
        static_cast<void>(co_await loop.post_recv(0, buffer, {.tag = 9}));
      };
      const auto waits = [&]() -> task<> {
        const counts_its_end mark{gone};
        const event own{loop};
        const counter never{rt};
        static_cast<void>(co_await loop.wait(never, 1));
      };
      start_and_destroy(loop, receives());
      start_and_destroy(loop, waits());
      EXPECT_LT(gone, 2);
    }
    EXPECT_EQ(gone, 2);
  });
}

// A task that was resumed by a set, and did not run yet, does not look at the event any more.
TEST(event, that_was_set_may_go_before_the_coroutines_that_have_waited) {
  local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    std::optional<event> ready{std::in_place, loop};
    int gone = 0;
    const auto waits = [&]() -> task<> {
      const counts_its_end mark{gone};
      co_await *ready;
      ADD_FAILURE() << "was destroyed";
    };
    const auto sets = [&]() -> task<> {
      co_await loop.schedule();
      ready->set();
      ready.reset();
      throw std::runtime_error{"on purpose"};
    };
    loop.spawn(sets());
    EXPECT_THROW(loop.run(waits()), std::runtime_error);
    EXPECT_EQ(gone, 0);
    loop.run_ready();
    EXPECT_EQ(gone, 1);
  });
}

// Threads destroy tasks while others wait and set: each coroutine that is left is resumed once.
TEST(event, is_set_while_coroutines_are_given_up) {
  local_job{1}.run([](runtime& rt) {
    const int rounds = test::messages_wake_sleepers() ? 300 : 30;
    run_loop loop{rt.default_device()};
    for (int round = 0; round < rounds; ++round) {
      event ready{loop};
      int gone = 0, resumed = 0;
      const auto waits = [&]() -> task<> {
        const counts_its_end mark{gone};
        co_await ready;
        ++resumed;
      };
      for (int i = 0; i < 3; ++i) loop.spawn(waits());
      loop.run_ready();
      std::thread other{[&] { ready.set(); }};
      const auto lost = [&]() -> task<> {
        static_cast<void>(co_await when_all(waits(), waits()));
        ready.reset();  // not before all have ended: they are resumed once
      };
      const auto throws = [&]() -> task<> {
        throw std::runtime_error{"on purpose"};
        co_return;
      };
      loop.spawn(throws());
      try {
        loop.run(lost());
      } catch (const std::runtime_error&) {
      }
      other.join();
      ready.set();
      EXPECT_TRUE(eventually(rt.default_device(), [&] {
        try {
          loop.run_ready();
        } catch (const std::runtime_error&) {
        }
        return loop.spawned() == 0 && gone == 5;
      }));
      EXPECT_GE(resumed, 3);
    }
  });
}

}  // namespace
}  // namespace weft
