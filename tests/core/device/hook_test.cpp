// SPDX-License-Identifier: BSD-3-Clause
// Hooks: progress calls them until they are done or removed, and never inside each other.
#include "weft/hook.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

TEST(hook, is_called_once_in_each_progress_until_it_is_done) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    int calls = 0;
    hook mine = dev.add_hook([&] { return ++calls == 3 ? hook_answer::done : hook_answer::no_progress; });
    EXPECT_FALSE(dev.progress());
    EXPECT_FALSE(dev.progress());
    EXPECT_FALSE(mine.is_over());
    EXPECT_TRUE(dev.progress());
    EXPECT_TRUE(mine.is_over());
    dev.progress();
    EXPECT_EQ(calls, 3);
  });
}

TEST(hook, says_whether_it_has_moved_something) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    hook mine = dev.add_hook([](device&) { return hook_answer::progress; });
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(dev.progress());
    mine.remove();
    EXPECT_TRUE(mine.is_over());
    EXPECT_FALSE(dev.progress());
  });
}

TEST(hook, runs_in_the_order_in_which_it_was_added) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::vector<int> order;
    std::vector<hook> all;
    for (int i = 0; i < 5; ++i) {
      all.push_back(dev.add_hook([&order, i] {
        order.push_back(i);
        return i % 2 == 0 ? hook_answer::done : hook_answer::no_progress;
      }));
    }
    dev.progress();
    dev.progress();
    all.push_back(dev.add_hook([&order] {
      order.push_back(9);
      return hook_answer::no_progress;
    }));
    dev.progress();
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4, 1, 3, 1, 3, 9}));
  });
}

TEST(hook, adds_others_that_run_with_the_next_call) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    constexpr int links = 10'000;  // would not fit on a stack, one inside the other
    int calls = 0;
    int depth = 0;
    std::function<hook_answer()> link = [&] {
      EXPECT_EQ(depth++, 0);
      if (++calls < links) dev.add_hook(link).detach();
      EXPECT_FALSE(dev.progress());
      --depth;
      return hook_answer::done;
    };
    dev.add_hook(link).detach();
    for (int i = 1; i <= links; ++i) {
      dev.progress();
      EXPECT_EQ(calls, i);
    }
  });
}

TEST(hook, removes_itself_and_others) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    int calls = 0;
    hook self, other;
    self = dev.add_hook([&] {
      ++calls;
      self.remove();
      other.remove();
      return hook_answer::progress;
    });
    other = dev.add_hook([&] {
      ADD_FAILURE() << "was removed before its turn";
      return hook_answer::progress;
    });
    EXPECT_TRUE(dev.progress());
    EXPECT_FALSE(dev.progress());
    EXPECT_EQ(calls, 1);
  });
}

TEST(hook, never_runs_after_it_was_removed_by_another_thread) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    test::flag stop;
    std::thread poller{[&] {
      while (!stop.is_raised()) dev.progress();
    }};
    for (int i = 0; i < (test::messages_wake_sleepers() ? 300 : 10); ++i) {
      auto calls = std::make_unique<test::tally<int>>();
      hook mine = dev.add_hook([&calls = *calls] {
        calls.add();
        return hook_answer::no_progress;
      });
      if (i % 2 == 0) {
        EXPECT_TRUE(test::eventually([&] { return calls->value() != 0; }));
      }
      mine.remove();
      calls.reset();  // what it refers to goes: a sanitizer sees it if it still runs
    }
    stop.raise();
    poller.join();
  });
}

TEST(hook, is_added_by_many_threads_and_called_by_many) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    constexpr int threads = 4, each = 200;
    test::tally<int> calls;
    std::array<test::flag, threads> inside;
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        for (int i = 0; i < each; ++i) {
          dev.add_hook([&, t, left = 3]() mutable {
               EXPECT_TRUE(inside[static_cast<std::size_t>(t)].try_raise()) << "called twice at once";
               calls.add();
               EXPECT_TRUE(inside[static_cast<std::size_t>(t)].try_lower());
               return --left == 0 ? hook_answer::done : hook_answer::no_progress;
             })
              .detach();
          dev.progress();
        }
      });
    }
    for (std::thread& thread : all) thread.join();
    EXPECT_TRUE(test::eventually(dev, [&] { return calls.value() == threads * each * 3; }));
  });
}

TEST(hook, posts_and_is_waited_for) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue inbox{rt}, sent{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    // Sends three messages, one in each call, as far as there is room.
    hook sender = dev.add_hook([&, left = 3](device& through) mutable {
      const status answer = through.post_am(1 - rt.rank(), {1}, const_buffer_ref{}, sent, {.tag = 7});
      if (answer.is_retry()) return hook_answer::no_progress;
      return --left == 0 ? hook_answer::done : hook_answer::progress;
    });
    for (int i = 0; i < 3; ++i) {
      const auto got = dev.wait(inbox, {.timeout = std::chrono::minutes{1}});
      ASSERT_TRUE(got.has_value());
      EXPECT_EQ(got->tag(), 7U);
    }
    EXPECT_TRUE(dev.wait(sent, [&] { return sender.is_over(); }, {.timeout = std::chrono::minutes{1}}));
    rt.barrier();
  });
}

// A thread that sleeps on a device is woken to run a hook that another thread adds.
TEST(hook, wakes_those_who_sleep) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter never{rt};
    test::flag is_done;
    std::thread waits{[&] {
      EXPECT_TRUE(
          dev.wait(never, [&] { return is_done.is_raised(); }, {.timeout = std::chrono::minutes{1}, .spins = 0}));
    }};
    dev.add_hook([&] {
         is_done.raise();
         return hook_answer::done;
       })
        .detach();
    waits.join();
  });
}

TEST(hook, goes_with_its_device) {
  test::local_job{1}.run([](runtime& rt) {
    auto kept = std::make_shared<int>(1);
    hook mine;
    {
      device dev{rt};
      mine = dev.add_hook([kept] { return hook_answer::no_progress; });
      dev.add_hook([kept] { return hook_answer::no_progress; }).detach();
      dev.progress();
      dev.add_hook([kept] { return hook_answer::no_progress; }).detach();
      EXPECT_EQ(kept.use_count(), 4);
    }
    EXPECT_EQ(kept.use_count(), 1);
    EXPECT_TRUE(mine.is_over());
    mine.remove();
  });
}

// What a hook holds may be an object of its runtime.
TEST(hook, goes_with_what_it_holds) {
  test::local_job{1}.run([](runtime& rt) {
    counter inbox{rt};
    device dev{rt};
    auto held = std::make_shared<std::pair<registration, std::unique_ptr<device>>>(
        rt.register_completion(inbox, {.id = 1}), std::make_unique<device>(rt));
    dev.add_hook([held] { return hook_answer::no_progress; }).detach();
    held.reset();
    dev.progress();
  });
}

}  // namespace
}  // namespace weft
