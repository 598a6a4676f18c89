// SPDX-License-Identifier: BSD-3-Clause
// Children of fork() that destroy copies of run loops, tasks and events, whose coroutines the parent continues to run.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "support/forks.hpp"
#include "support/waiting.hpp"
#include "weft/await.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr int children_per_test = test::under_sanitizer ? 10 : 40;

task<> receive_one(run_loop& loop, std::uint64_t& into, std::stop_token stop = {}) {
  static_cast<void>(co_await loop.post_recv(0, buffer_ref{&into, sizeof into}, {.tag = 1}, std::move(stop)));
}

task<> receive_inside(run_loop& loop, std::uint64_t& into) { co_await receive_one(loop, into); }

task<> pop_one(run_loop& loop, completion_queue& from) { static_cast<void>(co_await loop.wait(from)); }

task<> wait_for(event& awaited) { co_await awaited; }

// A coroutine of a type that is not Weft's.
struct foreign {
  struct promise_type {
    foreign get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::abort(); }
  };
  std::coroutine_handle<promise_type> handle;
};
foreign wait_as_foreigner(event& awaited) { co_await awaited; }

TEST(await_fork, destroys_loops_tasks_and_events_with_all_that_they_wait_for) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::array<std::uint64_t, 3> into{};
    std::optional<completion_queue> inbox{std::in_place, rt};
    std::optional<run_loop> loop{std::in_place, dev};
    std::optional<event> ready{std::in_place, *loop};
    loop->spawn(receive_one(*loop, into[0]));
    loop->spawn(receive_inside(*loop, into[1]));
    loop->spawn(pop_one(*loop, *inbox));
    loop->spawn(wait_for(*ready));
    const foreign alone = wait_as_foreigner(*ready);
    // A task that another one awaits, and that goes with it.
    std::stop_source stop;
    std::optional<task<>> own{[](run_loop& on, std::uint64_t& to, std::stop_token until) -> task<> {
      co_await receive_one(on, to, std::move(until));
    }(*loop, into[2], stop.get_token())};
    const auto run_own = [](task<>& of) -> task<> { co_await std::move(of); };
    loop->spawn(run_own(*own));
    loop->poll();
    for (int i = 0; i < 3; ++i) {
      const test::child_end end = test::end_of_child([&](test::child_report& report) {
        report.at("destroys a task that waits for a receive");
        own.reset();
        report.at("destroys a coroutine that is not Weft's");
        alone.handle.destroy();
        report.at("destroys an event that coroutines await");
        ready.reset();
        report.at("destroys a loop that coroutines wait in");
        loop.reset();
        report.at("destroys a queue that coroutines wait for");
        inbox.reset();
      });
      ASSERT_EQ(end.fault, "") << end.said;
    }
    // In the parent everything continues.
    counter sent{rt};
    const std::uint64_t word = 7;
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(test::post(dev, [&] { return dev.post_send(0, std::span{&word, 1}, sent, {.tag = 1}); }));
    }
    static_cast<void>(inbox->signal(completion_record{}));
    ready->set();
    EXPECT_TRUE(loop->run({.timeout = test::patience}));
    EXPECT_EQ(into, (std::array<std::uint64_t, 3>{7, 7, 7}));
    alone.handle.destroy();
  });
}

TEST(await_fork, destroys_loops_that_other_threads_make_and_run_and_makes_its_own) {
  test::local_job{1}.run([](runtime& rt) {
    std::optional<run_loop> loop{std::in_place, rt.default_device()};
    std::optional<event> ready{std::in_place, *loop};
    std::atomic<bool> is_over{false};
    std::thread runs{[&] {
      while (!is_over) {
        run_loop other{rt.default_device()};
        event of_other{other};
        other.spawn(wait_for(of_other));
        loop->spawn(wait_for(*ready));
        loop->run_ready();
        other.run_ready();
        of_other.set();
        ready->set();
        other.run_ready();
        loop->run_ready();
        ready->reset();
      }
    }};
    for (int i = 0; i < children_per_test; ++i) {
      const test::child_end end = test::end_of_child([&](test::child_report& report) {
        report.at("destroys an event");
        ready.reset();
        report.at("destroys a loop");
        loop.reset();
        report.at("makes a runtime");
        ::setenv("WEFT_BOOT", "single", 1);
        runtime own;
        report.at("runs a loop of its own at the place of its parent's");
        loop.emplace(own.default_device());
        {
          event mine{*loop};
          loop->spawn(wait_for(mine));
          loop->run_ready();
          mine.set();
          if (!loop->run({.timeout = test::patience})) std::abort();
        }
        report.at("destroys its own loop");
        loop.reset();
      });
      EXPECT_EQ(end.fault, "") << end.said;
      if (!end.fault.empty()) break;
    }
    is_over = true;
    runs.join();
    ready->set();
    EXPECT_TRUE(loop->run({.timeout = test::patience}));
  });
}

TEST(await_fork, ends_a_child_that_runs_its_parents_loop) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    event ready{loop};
    loop.spawn(wait_for(ready));
    loop.run_ready();
    const auto refused = [&](const auto& work) {
      const test::child_end end = test::end_of_child([&](test::child_report&) { work(); });
      EXPECT_NE(end.fault.find("signal 6"), std::string::npos) << end.fault;
      EXPECT_NE(end.said.find("wrong use: a child of fork() uses a run loop of its parent"), std::string::npos)
          << end.said;
    };
    refused([&] { loop.run_ready(); });
    refused([&] { loop.spawn(wait_for(ready)); });
    refused([&] { static_cast<void>(loop.run()); });
    ready.set();
    EXPECT_TRUE(loop.run({.timeout = test::patience}));
  });
}

}  // namespace
}  // namespace weft
