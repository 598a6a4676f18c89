// SPDX-License-Identifier: BSD-3-Clause
// Progress policies: which other devices a quiet call polls, and that those may go at any moment.
#include "weft/progress_policy.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "core/device/poll_schedule.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

void tell(device& dev, std::uint32_t peer, std::uint32_t device, completion& local) {
  static_cast<void>(
      test::post(dev, [&] { return dev.post_am(peer, {1}, const_buffer_ref{}, local, {.device = device}); }));
}

TEST(progress_policy, is_an_attribute_of_a_device) {
  test::local_job{1}.run([](runtime& rt) {
    EXPECT_EQ(rt.default_device().policy(), base::process_settings().policy);
    EXPECT_EQ(device(rt).policy(), base::process_settings().policy);
    for (const auto each :
         {progress_policy::local, progress_policy::random, progress_policy::all, progress_policy::adaptive}) {
      EXPECT_EQ(device(rt, {.policy = each}).policy(), each);
      EXPECT_EQ(device(rt, {.shared = false, .policy = each}).policy(), each);
      device alone{rt, {.policy = each}};
      for (int i = 0; i < 100; ++i) EXPECT_FALSE(alone.progress());
    }
  });
}

class policy_that_looks : public testing::TestWithParam<progress_policy> {};
INSTANTIATE_TEST_SUITE_P(each, policy_that_looks,
                         testing::Values(progress_policy::random, progress_policy::all, progress_policy::adaptive),
                         [](const auto& of) { return std::string{name_of(of.param)}; });

// A thread that makes progress on `own` handles messages for a device that no thread polls, and runs its hooks.
TEST_P(policy_that_looks, serves_a_device_that_nobody_polls) {
  for (const bool shared : {false, true}) {
    test::local_job{2}.run([&](runtime& rt) {
      device neglected{rt}, other{rt};
      device own{rt, {.shared = shared, .policy = GetParam()}};
      int handled = 0, hooked = 0;
      handler counts{rt, [&](completion_record&&) { ++handled; }};
      counter sent{rt};
      const auto arrivals = rt.register_completion(counts, {.id = 1});
      const hook mine = neglected.add_hook([&] {
        ++hooked;
        return hook_answer::no_progress;
      });
      rt.barrier();
      for (int i = 1; i <= 5; ++i) {
        tell(own, 1 - rt.rank(), neglected.index(), sent);
        EXPECT_TRUE(test::eventually(own, [&] { return handled >= i; }));
      }
      EXPECT_TRUE(test::eventually(own, [&] { return hooked >= 5; }));
      rt.barrier();
    });
  }
}

TEST_P(policy_that_looks, says_that_it_has_moved_something_elsewhere) {
  test::local_job{1}.run([&](runtime& rt) {
    device neglected{rt}, own{rt, {.policy = GetParam()}};
    const hook mine = neglected.add_hook([] { return hook_answer::progress; });
    EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return own.progress(); }));
  });
}

TEST_P(policy_that_looks, leaves_devices_of_one_threads_own_alone) {
  test::local_job{1}.run([&](runtime& rt) {
    device theirs{rt, {.shared = false}}, own{rt, {.policy = GetParam()}};
    const hook mine = theirs.add_hook([] {
      ADD_FAILURE() << "polled by a thread that is not its own";
      return hook_answer::done;
    });
    for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(own.progress());
  });
}

// Inside a visit, no call may wait, and other devices' calls of progress keep to themselves.
TEST_P(policy_that_looks, forbids_to_wait_inside_a_visit) {
  test::local_job{1}.run([&](runtime& rt) {
    device neglected{rt}, third{rt}, own{rt, {.policy = GetParam()}};
    counter never{rt};
    int inside = 0;
    const hook mine = neglected.add_hook([&] {
      EXPECT_THROW(own.wait(never, 1), error);
      EXPECT_FALSE(neglected.progress());
      for (int i = 0; i < 100; ++i) EXPECT_FALSE(own.progress());
      ++inside;
      return hook_answer::done;
    });
    const hook other = third.add_hook([] { return hook_answer::no_progress; });
    EXPECT_TRUE(test::eventually(own, [&] { return inside == 1; }));
    EXPECT_FALSE(own.wait(never, 1, {.timeout = std::chrono::milliseconds{1}}));
  });
}

TEST_P(policy_that_looks, lets_devices_go_at_any_moment) {
  test::local_job{1}.run([&](runtime& rt) {
    test::flag stop;
    test::tally<> handled;
    handler counts{rt, [&](completion_record&&) { handled.add(); }};
    const auto arrivals = rt.register_completion(counts, {.id = 1});
    std::vector<std::thread> pollers;
    for (const bool shared : {false, true}) {
      pollers.emplace_back([&, shared] {
        device own{rt, {.shared = shared, .policy = GetParam()}};
        while (!stop.is_raised()) own.progress();
      });
    }
    counter sent{rt};
    const int rounds = test::messages_wake_sleepers() ? 200 : 10;
    for (int i = 0; i < rounds; ++i) {
      device guest{rt, {.policy = GetParam()}};
      auto calls = std::make_shared<test::tally<int>>();
      guest
          .add_hook([calls] {
            calls->add();
            return hook_answer::no_progress;
          })
          .detach();
      tell(rt.default_device(), 0, guest.index(), sent);
      if (i % 2 == 0) {
        EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return calls->value() != 0; }));
      }
    }
    EXPECT_TRUE(
        test::eventually(rt.default_device(), [&] { return handled.value() == static_cast<std::uint64_t>(rounds); }));
    stop.raise();
    for (std::thread& each : pollers) each.join();
  });
}

// A sleeping thread polls other devices now and then.
TEST_P(policy_that_looks, serves_others_while_it_waits) {
  test::local_job{2}.run([&](runtime& rt) {
    device neglected{rt}, own{rt, {.policy = GetParam()}};
    counter arrived{rt}, sent{rt};
    const auto arrivals = rt.register_completion(arrived, {.id = 1});
    rt.barrier();
    for (std::uint64_t i = 1; i <= 3; ++i) {
      tell(own, 1 - rt.rank(), neglected.index(), sent);
      EXPECT_TRUE(own.wait(arrived, i, {.timeout = std::chrono::minutes{1}, .spins = 0}));
    }
    rt.barrier();
  });
}

TEST(progress_policy, local_leaves_other_devices_alone_but_for_the_default_one) {
  test::local_job{1}.run([](runtime& rt) {
    device other{rt}, own{rt, {.policy = progress_policy::local}};
    int calls = 0;
    const hook theirs = other.add_hook([] {
      ADD_FAILURE() << "polled by a thread that should not";
      return hook_answer::done;
    });
    const hook standard = rt.default_device().add_hook([&] {
      ++calls;
      return hook_answer::no_progress;
    });
    for (int i = 0; i < 6400; ++i) own.progress();
    EXPECT_EQ(calls, 100);
  });
}

// The knowledge of `adaptive`, without a clock.
TEST(poll_schedule, looks_at_once_again_where_there_was_something_and_seldom_where_others_poll) {
  core::poll_schedule it;
  constexpr std::uint64_t both = 0b110;
  EXPECT_TRUE(it.is_due(0));
  EXPECT_FALSE(it.is_unpolled(1, 0)) << "nobody knows before the second look";
  it.found_polled(1, 7, 0, 2);
  it.found_polled(2, 5, 0, 2);
  it.set_next(both, 0);
  EXPECT_FALSE(it.is_due(1999));
  EXPECT_TRUE(it.is_due(2000));
  EXPECT_TRUE(it.is_unpolled(1, 7));
  EXPECT_FALSE(it.is_unpolled(2, 6));

  it.polled(1, 8, true, 2000);
  EXPECT_TRUE(it.is_due(1, 2000));
  for (std::int64_t wait : {2000, 4000, 8000, 16000, 16000}) {
    it.polled(1, 8, false, 10'000);
    EXPECT_FALSE(it.is_due(1, 10'000 + wait - 1));
    EXPECT_TRUE(it.is_due(1, 10'000 + wait));
  }
  for (std::int64_t wait : {4000, 8000, 16000, 32000, 40000, 40000}) {
    it.found_polled(2, 9, 20'000, 10);
    EXPECT_FALSE(it.is_due(2, 20'000 + wait - 1));
    EXPECT_TRUE(it.is_due(2, 20'000 + wait));
  }
}

}  // namespace
}  // namespace weft
