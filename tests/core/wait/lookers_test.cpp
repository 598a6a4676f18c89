// SPDX-License-Identifier: BSD-3-Clause
// Many threads that wait through one device: one of them looks for messages, and hands that on when its wait ends; the
// others sleep until their own signal. Wake-ups are counted, as the library makes them, and sleeps that a lost wake-up
// made last to their limit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "core/wait/late_sleeps.hpp"
#include "net/ring/sleep_word.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using std::chrono::minutes;

constexpr std::uint32_t blocked_count = 16;
constexpr std::uint32_t talker = blocked_count;  // the id of a thread that is not blocked
constexpr std::uint64_t usual_looker_rounds = test::under_sanitizer ? 100 : 500;
const std::uint64_t looker_rounds = test::messages_wake_sleepers() ? usual_looker_rounds : 3;

// Sleeps as soon as it may.
const wait_options sleeping_at_once{.timeout = minutes{2}, .spins = 0};

// An inbox for each of the blocked threads and for the talker, by their numbers.
class inboxes {
 public:
  explicit inboxes(runtime& rt) : runtime_{rt} {
    for (std::uint32_t number = 0; number <= talker; ++number) {
      queues_.push_back(std::make_unique<completion_queue>(rt));
      arrivals_.push_back(rt.register_completion(*queues_.back(), {.id = number}));
    }
    rt.barrier();
  }
  [[nodiscard]] completion_queue& operator[](std::uint32_t number) { return *queues_[number]; }
  void send(device& dev, std::uint32_t number, std::uint64_t tag) {
    completion_queue sent{runtime_};
    const std::uint32_t peer = 1 - runtime_.rank();
    const status answer = test::post(dev, [&] {
      return dev.post_am(peer, {number}, const_buffer_ref{}, sent, {.tag = tag, .device = dev.index()});
    });
    EXPECT_TRUE(answer.is_done());
  }
  // True: the next message of that thread has this tag.
  [[nodiscard]] bool has_come(device& dev, std::uint32_t number, std::uint64_t tag) {
    const auto got = dev.wait(*queues_[number], sleeping_at_once);
    return got.has_value() && got->tag() == tag;
  }
  void go_to_and_fro(device& dev, std::uint32_t number, std::uint64_t count) {
    for (std::uint64_t round = 0; round < count; ++round) {
      if (runtime_.rank() == 0) send(dev, number, round);
      EXPECT_TRUE(has_come(dev, number, round)) << "thread " << number << " round " << round;
      if (runtime_.rank() == 1) send(dev, number, round);
    }
  }

 private:
  runtime& runtime_;
  std::vector<std::unique_ptr<completion_queue>> queues_;
  std::vector<registration> arrivals_;
};

void run_blocked_beside_talkers(runtime& rt, device& dev) {
  inboxes all{rt};
  std::vector<std::jthread> threads;
  for (std::uint32_t number = 0; number < blocked_count; ++number)
    threads.emplace_back([&, number] { EXPECT_TRUE(all.has_come(dev, number, 7)); });
  all.go_to_and_fro(dev, talker, looker_rounds);  // most of the others have fallen asleep then
  const std::uint64_t before = net::wake_up_count();
  all.go_to_and_fro(dev, talker, looker_rounds);
  const std::uint64_t woken = net::wake_up_count() - before;
  if (rt.rank() == 0) {
    std::cout << woken << " wake-ups for " << 2 * looker_rounds << " messages\n";
    EXPECT_LE(woken, test::messages_wake_sleepers() ? 3 * looker_rounds : ~0ULL);
  }
  for (std::uint32_t number = 0; number < blocked_count; ++number) all.send(dev, number, 7);
  threads.clear();
  rt.barrier();
  test::expect_few_late_sleeps(rt, 4 * looker_rounds);
}

TEST(wait_lookers, blocked_threads_sleep_on_while_two_others_exchange_messages) {
  test::local_job{2}.run([](runtime& rt) { run_blocked_beside_talkers(rt, rt.default_device()); });
}

TEST(wait_lookers, the_same_holds_at_another_device) {
  test::local_job{2}.run([](runtime& rt) {
    device dev{rt};
    rt.barrier();
    run_blocked_beside_talkers(rt, dev);
  });
}

TEST(wait_lookers, each_thread_gets_its_messages_whichever_looks) {
  test::local_job{2}.run([](runtime& rt) {
    inboxes all{rt};
    {
      std::vector<std::jthread> threads;
      for (std::uint32_t number = 0; number < blocked_count; ++number)
        threads.emplace_back([&, number] { all.go_to_and_fro(rt.default_device(), number, looker_rounds / 4); });
    }
    rt.barrier();
    test::expect_few_late_sleeps(rt, blocked_count * looker_rounds / 2);
  });
}

// The messages come for a device through which no thread waits: the policy of another one polls it.
TEST(wait_lookers, a_thread_is_woken_for_the_devices_that_its_own_polls) {
  test::local_job{2}.run([](runtime& rt) {
    device waits{rt, {.policy = progress_policy::all}};
    device other{rt};
    rt.barrier();
    inboxes all{rt};
    const std::uint64_t before = net::wake_up_count();
    for (std::uint64_t round = 0; round < looker_rounds; ++round) {
      if (rt.rank() == 0) all.send(other, talker, round);
      EXPECT_TRUE(all.has_come(waits, talker, round));
      if (rt.rank() == 1) all.send(other, talker, round);
    }
    EXPECT_TRUE(net::wake_up_count() != before || !test::messages_wake_sleepers()) << "it has found all by itself";
    rt.barrier();
    test::expect_few_late_sleeps(rt, 2 * looker_rounds);
  });
}

// A device that is made while a thread sleeps is looked at as well.
TEST(wait_lookers, a_thread_looks_at_a_device_that_is_made_while_it_sleeps) {
  test::local_job{2}.run([](runtime& rt) {
    device waits{rt, {.policy = progress_policy::all}};
    inboxes all{rt};
    {
      std::jthread sleeper{[&] { EXPECT_TRUE(all.has_come(waits, talker, 3)); }};
      device made{rt};
      rt.barrier();
      all.send(made, talker, 3);
      sleeper.join();
      rt.barrier();
    }
    test::expect_few_late_sleeps(rt, 1);
  });
}

// The looker leaves by its limit, by a stop, and by an exception, again and again, while another thread waits for
// messages.
TEST(wait_lookers, a_looker_that_gives_up_hands_on) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    inboxes all{rt};
    counter never{rt};
    {
      std::vector<std::jthread> threads;
      for (std::uint32_t end = 0; end < 3; ++end) {
        threads.emplace_back([&, end](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            int asked = 0;
            const auto condition = [&]() -> bool {
              if (end == 2 && ++asked == 4) throw end;
              return false;
            };
            wait_options options{.timeout = std::chrono::microseconds{50}, .spins = 0};
            if (end == 1) options = {.timeout = minutes{2}, .spins = 0, .stop = stop};
            try {
              EXPECT_FALSE(dev.wait(never, condition, options));
            } catch (const std::uint32_t) {
            }
          }
        });
      }
      all.go_to_and_fro(dev, talker, looker_rounds);
    }
    rt.barrier();
    test::expect_few_late_sleeps(rt, 2 * looker_rounds);
  });
}

// More threads than doorbells: the others are woken by each message.
TEST(wait_lookers, there_may_be_more_threads_than_doorbells) {
  constexpr std::uint32_t many = net::sleep_word::doorbells_max + 8;
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter count{rt};
    std::vector<std::jthread> threads;
    test::tally<> asleep;
    for (std::uint32_t number = 0; number < many; ++number) {
      threads.emplace_back([&] {
        bool is_first = true;
        EXPECT_TRUE(dev.wait(
            count,
            [&] {
              if (std::exchange(is_first, false)) asleep.add();
              return count.value() == 1;
            },
            sleeping_at_once));
      });
    }
    EXPECT_TRUE(test::eventually([&] { return asleep.value() == many; }));
    EXPECT_EQ(count.signal(completion_record{}), completion::answer::taken);
  });
}

}  // namespace
}  // namespace weft
