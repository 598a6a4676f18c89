// SPDX-License-Identifier: BSD-3-Clause
// Fibers of another scheduler (weft/suspender.hpp), played by the thread of the test.
#include "weft/suspender.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/fiber.hpp"
#include "weft/fiber_sync.hpp"

namespace weft {
namespace {

// One fiber, on the thread that made this. A call of `resume` by another thread stays inside until the fiber either has
// left its wait, which it must not, or has looked for the event many times.
class slow_to_resume final : public suspender {
 public:
  slow_to_resume() : before_{use_suspender(this)} {}
  ~slow_to_resume() { use_suspender(before_); }

  void* current() noexcept override { return this; }
  void suspend() noexcept override {
    has_suspended_.raise();
    std::this_thread::yield();
    if (is_inside_.is_raised()) looks_.publish(looks_.value() + 1);
  }
  void resume(void* /*which*/) noexcept override {
    if (std::this_thread::get_id() == thread_) return;
    is_inside_.raise();
    EXPECT_TRUE(test::eventually([&] { return has_left_.is_raised() || looks_.value() >= 100; }));
    has_returned_.raise();
  }

  [[nodiscard]] bool has_suspended() const noexcept { return has_suspended_.is_raised(); }
  void leave() {
    EXPECT_TRUE(is_inside_.is_raised());
    EXPECT_TRUE(has_returned_.is_raised()) << "the fiber went on while its suspender was still in use";
    has_left_.raise();
  }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
  test::flag has_suspended_, is_inside_, has_left_, has_returned_;
  test::published<int> looks_;
  suspender* before_;
};

TEST(suspender, a_fiber_leaves_its_wait_after_the_thread_that_resumes_it_has_left_the_suspender) {
  slow_to_resume how;
  fiber_event event;
  std::thread sets{[&] {
    EXPECT_TRUE(test::eventually([&] { return how.has_suspended(); }));
    event.set();
  }};
  event.wait();
  how.leave();
  sets.join();
}

TEST(suspender, a_fiber_joins_one_whose_worker_is_slow_to_resume_it) {
  slow_to_resume how;
  fiber_scheduler fibers;
  fiber ends = fibers.spawn([&] {
    while (!how.has_suspended()) this_fiber::yield();
  });
  ends.join();
  how.leave();
}

// The suspender of one thread. Its fiber goes on in the thread of another one when it was suspended.
class of_one_thread final : public suspender {
 public:
  void* current() noexcept override { return this; }
  void suspend() noexcept override {
    ++suspended;
    if (next != nullptr && suspended < 100) {
      use_suspender(next);
    } else {
      event->set();
    }
  }
  void resume(void* which) noexcept override {
    ++resumed;
    EXPECT_EQ(which, this);
  }

  of_one_thread* next = nullptr;
  fiber_event* event = nullptr;
  int suspended = 0, resumed = 0;
};

TEST(suspender, of_the_thread_that_runs_the_fiber_suspends_it_and_the_one_that_has_named_it_resumes_it) {
  fiber_event event;
  of_one_thread first, second, third;
  first.next = &second;
  second.next = &third;
  third.event = &event;
  suspender* const before = use_suspender(&first);
  event.wait();
  use_suspender(before);
  EXPECT_EQ(first.suspended, 1);
  EXPECT_EQ(second.suspended, 1);
  EXPECT_EQ(third.suspended, 1);
  EXPECT_EQ(first.resumed, 1);
  EXPECT_EQ(second.resumed + third.resumed, 0);
}

}  // namespace
}  // namespace weft
