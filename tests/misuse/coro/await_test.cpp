// SPDX-License-Identifier: BSD-3-Clause
// Coroutines and run loops that go in the wrong order end the process with a line that says which rule was broken.
#include <gtest/gtest.h>

#include <coroutine>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>

#include "weft/weft.hpp"

namespace {

// A process that is started anew for each death: one that forks while it has threads may hang.
class wrong_await : public testing::Test {
 protected:
  wrong_await() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// Alone, whatever has started this process.
std::unique_ptr<weft::runtime> lone_runtime() {
  ::setenv("WEFT_BOOT", "single", 1);
  return std::make_unique<weft::runtime>();
}

weft::task<> receive(weft::run_loop& loop) {
  std::uint64_t into = 0;
  static_cast<void>(co_await loop.post_recv(0, std::span{&into, 1}));
}

weft::task<> schedule(weft::run_loop& loop) { co_await loop.schedule(); }

weft::task<> wait_for(weft::event& ready) { co_await ready; }

weft::task<> wait_for(weft::task<>& other) { co_await std::move(other); }

// A coroutine of the user's own, which the library can't keep.
struct own_coroutine {
  struct promise_type {
    own_coroutine get_return_object() {
      return own_coroutine{std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

own_coroutine receive_by_own(weft::run_loop& loop) {
  std::uint64_t into = 0;
  static_cast<void>(co_await loop.post_recv(0, std::span{&into, 1}));
}

TEST_F(wrong_await, of_a_run_loop_that_was_destroyed_is_fatal) {
  const auto posts = [] {
    const auto rt = lone_runtime();
    weft::run_loop other{rt->default_device()};
    std::optional<weft::run_loop> loop{std::in_place, rt->default_device()};
    weft::task<> late = receive(*loop);
    loop.reset();
    other.run(std::move(late));
  };
  EXPECT_DEATH(posts(), "wrong use: .*awaits something of a run loop that was destroyed");
  const auto schedules = [] {
    const auto rt = lone_runtime();
    weft::run_loop other{rt->default_device()};
    std::optional<weft::run_loop> loop{std::in_place, rt->default_device()};
    weft::task<> late = schedule(*loop);
    loop.reset();
    other.run(std::move(late));
  };
  EXPECT_DEATH(schedules(), "wrong use: .*awaits something of a run loop that was destroyed");
}

TEST_F(wrong_await, of_a_run_loop_that_goes_first_is_fatal) {
  const auto receives = [] {
    const auto rt = lone_runtime();
    std::optional<weft::run_loop> loop{std::in_place, rt->default_device()};
    loop->spawn(receive(*loop));
    loop->run_ready();
    loop.reset();
  };
  EXPECT_DEATH(receives(), "wrong use: a run loop is destroyed while coroutines wait");
  const auto is_ready = [] {
    const auto rt = lone_runtime();
    std::optional<weft::run_loop> loop{std::in_place, rt->default_device()};
    loop->spawn(schedule(*loop));
    loop.reset();
  };
  EXPECT_DEATH(is_ready(), "wrong use: a run loop is destroyed while coroutines wait");
  const auto has_event = [] {
    const auto rt = lone_runtime();
    std::optional<weft::run_loop> loop{std::in_place, rt->default_device()};
    const weft::event left{*loop};
    loop.reset();
  };
  EXPECT_DEATH(has_event(), "wrong use: a run loop is destroyed before an event");
}

TEST_F(wrong_await, of_an_event_that_goes_first_is_fatal) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    weft::run_loop loop{rt->default_device()};
    std::optional<weft::event> ready{std::in_place, loop};
    loop.spawn(wait_for(*ready));
    loop.run_ready();
    ready.reset();
  };
  EXPECT_DEATH(wrong(), "wrong use: an event is destroyed while coroutines wait for it");
}

TEST_F(wrong_await, of_a_task_that_is_empty_or_was_awaited_before_is_fatal) {
  const auto empty = [] {
    const auto rt = lone_runtime();
    weft::run_loop loop{rt->default_device()};
    weft::task<> nothing;
    loop.run(wait_for(nothing));
  };
  EXPECT_DEATH(empty(), "wrong use: an empty task");
  const auto twice = [] {
    const auto rt = lone_runtime();
    weft::run_loop loop{rt->default_device()};
    weft::task<> once = schedule(loop);
    loop.run(wait_for(once));
    loop.run(wait_for(once));
  };
  EXPECT_DEATH(twice(), "wrong use: a task is awaited or started a second time");
  const auto runs_nothing = [] {
    const auto rt = lone_runtime();
    weft::run_loop loop{rt->default_device()};
    loop.run(weft::task<>{});
  };
  EXPECT_DEATH(runs_nothing(), "wrong use: an empty task");
}

TEST_F(wrong_await, of_an_operation_by_a_coroutine_that_is_destroyed_meanwhile_is_fatal) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    weft::run_loop loop{rt->default_device()};
    receive_by_own(loop).handle.destroy();
  };
  EXPECT_DEATH(wrong(), "wrong use: a coroutine is destroyed while something that it awaits is under way");
}

}  // namespace
