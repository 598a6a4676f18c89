// SPDX-License-Identifier: BSD-3-Clause
// Children of fork() that destroy copies of schedulers and fibers, which the parent's workers go on to run.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "support/forks.hpp"
#include "support/waiting.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr int children_per_test = test::under_sanitizer ? 10 : 40;

template <class Work>
void expect_fiber_refusal(const char* call, const Work& work) {
  const test::child_end end = test::end_of_child([&](test::child_report& report) {
    report.at("does what it may not do");
    work();
  });
  EXPECT_NE(end.fault.find("signal 6"), std::string::npos) << call << ": " << end.fault;
  EXPECT_NE(end.said.find("wrong use: a child of fork() uses a fiber"), std::string::npos) << call << ": " << end.said;
}

TEST(fiber_fork, destroys_schedulers_whose_fibers_wait) {
  fiber_event go;
  std::optional<fiber_scheduler> fibers{
      std::in_place, fiber_scheduler_options{.workers = 2, .report_stuck_after = std::chrono::milliseconds{1}}};
  std::optional<fiber_promise<int>> promise{std::in_place};
  fiber_future<int> result = promise->future();
  std::optional<fiber> joined{fibers->spawn([&] { go.wait(); })};
  std::optional<fiber> detached{fibers->spawn([&] { go.wait(); })};
  std::optional<fiber> gets{fibers->spawn([&] { EXPECT_EQ(result.get(), 1); })};
  for (int i = 0; i < 3; ++i) {
    const test::child_end end = test::end_of_child([&](test::child_report& report) {
      report.at("destroys a promise");
      promise.reset();
      report.at("destroys a fiber that waits");
      joined.reset();
      report.at("detaches a fiber that waits");
      detached->detach();
      report.at("destroys a scheduler");
      fibers.reset();
    });
    ASSERT_EQ(end.fault, "") << end.said;
  }
  go.set();
  promise->set_value(1);
  joined->join();
  detached->join();
  gets->join();
}

TEST(fiber_fork, destroys_schedulers_that_other_threads_make_and_use) {
  fiber_mutex mutex;
  std::optional<fiber_scheduler> fibers{std::in_place, fiber_scheduler_options{.workers = 2, .steal = true}};
  std::atomic<bool> is_over{false};
  fiber_event go;
  std::optional<fiber> waits{fibers->spawn([&] { go.wait(); })};
  std::thread uses{[&] {
    while (!is_over) {
      fiber_scheduler other;
      const auto lock_twice = [&] {
        for (int i = 0; i < 2; ++i) {
          const std::scoped_lock lock{mutex};
          this_fiber::yield();
        }
      };
      std::vector<fiber> all;
      for (int i = 0; i < 8; ++i) all.push_back((i % 2 == 0 ? other : *fibers).spawn(lock_twice));
    }
  }};
  for (int i = 0; i < children_per_test; ++i) {
    const test::child_end end = test::end_of_child([&](test::child_report& report) {
      report.at("unlocks a fiber_mutex, as the end of a scope does");
      mutex.unlock();
      report.at("signals a fiber");
      waits->ref().signal();
      report.at("detaches a fiber");
      waits->detach();
      report.at("destroys a scheduler");
      fibers.reset();
      // The sanitizers' allocators keep locks that other threads held at the fork: new threads may wait for them.
      if constexpr (!test::under_sanitizer) {
        report.at("makes a scheduler");
        fiber_scheduler own{{.workers = 2}};
        report.at("joins a fiber of its own");
        own.spawn([] { this_fiber::yield(); }).join();
      }
    });
    EXPECT_EQ(end.fault, "") << end.said;
    if (!end.fault.empty()) break;
  }
  is_over = true;
  uses.join();
  go.set();
  waits->join();
}

// The child has the one thread that forked: a worker's, on the stack of a fiber.
TEST(fiber_fork, is_called_on_a_fiber_whose_copy_ends_without_running_another_one) {
  fiber_scheduler fibers;
  std::atomic<int> others{0};
  fibers
      .spawn([&] {
        fiber other = fibers.spawn([&] { ++others; });
        const test::child_end end = test::end_of_child([](test::child_report& report) { report.at("ends"); });
        EXPECT_EQ(end.fault, "") << end.said;
        expect_fiber_refusal("yield on a fiber", [] { this_fiber::yield(); });
        expect_fiber_refusal("wait on a fiber", [] { this_fiber::wait(); });
      })
      .join();
  EXPECT_EQ(others, 1);
}

TEST(fiber_fork, ends_a_child_that_uses_its_parents_fibers) {
  fiber_scheduler fibers;
  fiber_event go;
  fiber_mutex mutex;
  fiber_barrier barrier{2};
  fiber waits = fibers.spawn([&] { go.wait(); });
  expect_fiber_refusal("spawn", [&] { fibers.spawn([] {}).detach(); });
  expect_fiber_refusal("join", [&] { waits.join(); });
  expect_fiber_refusal("fiber_event::wait", [&] { go.wait(); });
  expect_fiber_refusal("fiber_mutex::lock", [&] { mutex.lock(); });
  expect_fiber_refusal("fiber_barrier", [&] { barrier.arrive_and_wait(); });
  go.set();
  waits.join();
}

}  // namespace
}  // namespace weft
