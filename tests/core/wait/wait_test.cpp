// SPDX-License-Identifier: BSD-3-Clause
// Waiting: events wake a thread that sleeps, and none is missed. A missed wake-up costs 100 ms each time, so that these
// tests would not end in time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

// Sleeps as soon as it may.
const wait_options at_once{.timeout = minutes{2}, .spins = 0};

constexpr std::uint64_t usual_rounds = test::under_sanitizer ? 300 : 2000;
const std::uint64_t rounds = test::messages_wake_sleepers() ? usual_rounds : 3;

void tell(device& dev, std::uint32_t peer, std::uint32_t id, completion& local, std::uint64_t tag) {
  const status answer =
      test::post(dev, [&] { return dev.post_am(peer, {id}, const_buffer_ref{}, local, {.tag = tag}); });
  EXPECT_TRUE(answer.is_done());
}

TEST(wait, answers_at_once_where_there_is_nothing_to_wait_for) {
  test::local_job{1}.run([](runtime& rt) {
    completion_queue queue{rt};
    EXPECT_EQ(queue.signal(completion_record{}), completion::answer::taken);
    EXPECT_TRUE(rt.default_device().wait(queue, {.timeout = {}}).has_value());
    EXPECT_FALSE(rt.default_device().wait(queue, {.timeout = {}}).has_value());
    counter count{rt};
    EXPECT_TRUE(rt.default_device().wait(count, 0, {.timeout = {}}));
  });
}

TEST(wait, ends_with_its_timeout_in_every_mode) {
  test::local_job{1}.run([](runtime& rt) {
    counter never{rt};
    synchronizer neither{rt};
    for (const wait_mode mode : {wait_mode::spin, wait_mode::yield, wait_mode::park}) {
      EXPECT_FALSE(rt.default_device().wait(never, 1, {.timeout = milliseconds{5}, .mode = mode, .spins = 3}));
      EXPECT_FALSE(rt.default_device().wait(neither, {.timeout = milliseconds{1}, .mode = mode}));
    }
  });
}

// An hour that passes only when the thread has looked often enough.
TEST(wait, ends_with_its_timeout_and_no_earlier) {
  test::local_job{1}.run([](runtime& rt) {
    counter never{rt};
    base::set_clock time;
    for (const wait_mode mode : {wait_mode::spin, wait_mode::yield, wait_mode::park}) {
      std::uint32_t looks = 0;
      const auto count_looks = [&] {
        if (++looks == 200) time.advance(std::chrono::hours{1});
        return false;
      };
      EXPECT_FALSE(
          rt.default_device().wait(never, count_looks, {.timeout = std::chrono::hours{1}, .mode = mode, .spins = 3}));
      EXPECT_GE(looks, 200U);
    }
  });
}

TEST(wait, ends_with_its_timeout_while_other_things_move) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter never{rt};
    const hook busy = dev.add_hook([] { return hook_answer::progress; });
    for (const wait_mode mode : {wait_mode::spin, wait_mode::yield, wait_mode::park}) {
      EXPECT_FALSE(dev.wait(never, 1, {.timeout = milliseconds{1}, .mode = mode, .spins = 0}));
    }
  });
}

TEST(wait, throws_what_its_condition_throws_and_works_again) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter never{rt};
    for (int last = 1; last < 8; ++last) {
      int asked = 0;
      const auto condition = [&]() -> bool {
        if (++asked == last) throw last;
        return false;
      };
      EXPECT_THROW(dev.wait(never, condition, at_once), int);
      EXPECT_FALSE(dev.wait(never, 1, {.timeout = milliseconds{1}, .spins = 0}));
    }
  });
}

// By a thread of the user's, which makes no progress.
TEST(wait, is_woken_by_a_signal_of_the_users_own) {
  test::local_job{1}.run([](runtime& rt) {
    for (std::uint64_t round = 0; round < std::min(rounds, std::uint64_t{100}); ++round) {
      test::tally<int> calls;
      handler counts{rt, [&](completion_record&&) { calls.add(); }};
      std::thread signals{[&] { EXPECT_EQ(counts.signal(completion_record{}), completion::answer::taken); }};
      EXPECT_TRUE(rt.default_device().wait(
          counts, [&] { return calls.value() == 1; }, at_once));
      signals.join();
    }
  });
}

void go_to_and_fro(runtime& rt, device& dev, std::uint32_t first_id) {
  completion_queue inbox{rt}, sent{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = first_id + rt.rank()});
  rt.barrier();
  const std::uint32_t peer = 1 - rt.rank();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (rt.rank() == 0) tell(dev, peer, first_id + peer, sent, round);
    const auto got = dev.wait(inbox, at_once);
    ASSERT_TRUE(got.has_value()) << "round " << round;
    EXPECT_EQ(got->tag(), round);
    if (rt.rank() == 1) tell(dev, peer, first_id + peer, sent, round);
  }
  rt.barrier();
}

TEST(wait, is_woken_by_each_message_of_a_peer) {
  test::local_job{2}.run([](runtime& rt) { go_to_and_fro(rt, rt.default_device(), 1); });
}

TEST(wait, is_woken_at_a_device_of_its_own) {
  test::local_job{2}.run([](runtime& rt) {
    device own{rt, {.shared = false}};
    go_to_and_fro(rt, own, 1);
  });
}

TEST(wait, is_woken_by_messages_that_come_for_the_default_device) {
  test::local_job{2}.run([](runtime& rt) {
    if (rt.rank() == 1) return go_to_and_fro(rt, rt.default_device(), 1);  // sends to its peer's default device
    device own{rt, {.shared = false}};
    go_to_and_fro(rt, own, 1);
  });
}

TEST(wait, is_woken_by_its_ranks_own_messages) {
  test::local_job{1}.run([](runtime& rt) {
    completion_queue inbox{rt}, sent{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    device other{rt};
    test::published<std::uint64_t> seen;
    std::thread teller{[&] {
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        const status answer = test::post(
            other, [&] { return other.post_am(0, {1}, const_buffer_ref{}, sent, {.tag = round, .device = 0}); });
        EXPECT_TRUE(answer.is_done());
        EXPECT_TRUE(test::eventually([&] { return seen.value() == round; }));
      }
    }};
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      const auto got = rt.default_device().wait(inbox, at_once);
      EXPECT_TRUE(got && got->tag() == round);
      seen.publish(round);
    }
    teller.join();
  });
}

// Of two that wait through one device, one makes the progress that signals the other.
TEST(wait, is_woken_by_another_threads_signal) {
  test::local_job{2}.run([](runtime& rt) {
    constexpr std::uint32_t threads = 4;
    std::vector<std::unique_ptr<completion_queue>> inboxes;
    std::vector<registration> arrivals;
    for (std::uint32_t t = 0; t < threads; ++t) {
      inboxes.push_back(std::make_unique<completion_queue>(rt));
      arrivals.push_back(rt.register_completion(*inboxes.back(), {.id = t}));
    }
    rt.barrier();
    std::vector<std::thread> all;
    for (std::uint32_t t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        completion_queue sent{rt};
        device& dev = rt.default_device();
        for (std::uint64_t round = 0; round < rounds / 4; ++round) {
          if (rt.rank() == 0) tell(dev, 1, t, sent, round);
          const auto got = dev.wait(*inboxes[t], at_once);
          EXPECT_TRUE(got && got->tag() == round) << "thread " << t << " round " << round;
          if (!got) return;
          if (rt.rank() == 1) tell(dev, 0, t, sent, round);
        }
      });
    }
    for (std::thread& each : all) each.join();
    rt.barrier();
  });
}

TEST(wait, of_several_threads_for_one_queue_gives_each_record_to_one) {
  test::local_job{2}.run([](runtime& rt) {
    const std::uint64_t messages = rounds / 4;
    completion_queue inbox{rt}, sent{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    if (rt.rank() == 0) {
      for (std::uint64_t i = 0; i < messages; ++i) {
        tell(rt.default_device(), 1, 1, sent, i);
        if (i % 7 == 0) std::this_thread::yield();
      }
    } else {
      test::tally<> taken;
      std::vector<std::thread> all;
      for (int t = 0; t < 3; ++t) {
        all.emplace_back([&] {
          while (taken.value() < messages)
            taken.add(rt.default_device().wait(inbox, {.timeout = milliseconds{10}}).has_value());
        });
      }
      for (std::thread& each : all) each.join();
      EXPECT_EQ(taken.value(), messages);
    }
    rt.barrier();
  });
}

TEST(wait, for_any_object_asks_after_its_signals) {
  test::local_job{2}.run([](runtime& rt) {
    test::tally<> sum;
    handler adds{rt, [&](completion_record&& record) { sum.add(record.tag()); }};
    completion_queue sent{rt};
    const auto arrivals = rt.register_completion(adds, {.id = 1});
    rt.barrier();
    tell(rt.default_device(), 1 - rt.rank(), 1, sent, 7);
    EXPECT_TRUE(rt.default_device().wait(
        adds, [&] { return sum.value() == 7; }, at_once));
    rt.barrier();
  });
}

TEST(wait, for_a_send_to_be_received) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::vector<std::byte> bytes(100'000, static_cast<std::byte>(rt.rank()));
    for (std::uint64_t round = 0; round < std::min(rounds, std::uint64_t{50}); ++round) {
      synchronizer done{rt};
      const status answer = test::post(dev, [&]() -> status {
        if (rt.rank() == 0) return dev.post_send(1, bytes, done, {.tag = round});
        return dev.post_recv(0, std::span{bytes}, done, {.tag = round});
      });
      EXPECT_TRUE(answer.is_done() || dev.wait(done, at_once));
    }
    EXPECT_EQ(bytes.back(), std::byte{0});
    rt.barrier();
  });
}

// Messages for an id that is not registered yet wait; a thread that sleeps is woken when it is registered.
TEST(wait, is_woken_when_its_object_is_registered) {
  test::local_job{2}.run([](runtime& rt) {
    completion_queue inbox{rt}, sent{rt};
    if (rt.rank() == 0) tell(rt.default_device(), 1, 1, sent, 5);
    rt.barrier();
    if (rt.rank() == 1) {
      std::optional<completion_record> got;
      std::thread waits{[&] { got = rt.default_device().wait(inbox, at_once); }};
      const auto arrivals = rt.register_completion(inbox, {.id = 1});
      waits.join();
      EXPECT_TRUE(got && got->tag() == 5);
    }
    rt.barrier();
  });
}

// A wait there would wait for progress that this thread alone can make.
TEST(wait, is_refused_inside_a_handler) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue sent{rt};
    counter never{rt};
    wait_descriptor ready{dev};
    const std::vector<std::function<void()>> calls{[&] { dev.wait(never, 1, {.timeout = milliseconds{1}}); },
                                                   [&] { dev.flush(); }, [&] { rt.barrier(); },
                                                   [&] { static_cast<void>(ready.arm()); }};
    std::size_t refused = 0;
    bool is_through = false;
    handler waits{rt, [&](completion_record&&) {
                    for (const auto& call : calls) {
                      try {
                        call();
                      } catch (const error& problem) {
                        refused += problem.code() == errc::invalid_state;
                      }
                    }
                    is_through = true;
                  }};
    const auto arrivals = rt.register_completion(waits, {.id = 1});
    rt.barrier();
    tell(dev, rt.rank(), 1, sent, 0);
    EXPECT_TRUE(test::eventually(dev, [&] { return is_through; }));
    EXPECT_EQ(refused, calls.size());
    rt.barrier();
  });
}

TEST(wait, is_refused_for_another_runtimes_object) {
  test::local_job{1}.run([](runtime& mine) {
    test::local_job{1}.run([&](runtime& other) {
      counter foreign{other};
      EXPECT_THROW(mine.default_device().wait(foreign, 1, {.timeout = milliseconds{1}}), error);
    });
  });
}

}  // namespace
}  // namespace weft
