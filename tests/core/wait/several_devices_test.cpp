// SPDX-License-Identifier: BSD-3-Clause
// `runtime::wait`: a thread waits through several devices, and a message for any of them wakes it. A wake-up that is
// lost costs 100 ms each time; those are counted.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/wait/late_sleeps.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft::several_devices {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr std::uint32_t device_count = 3;  // beside the default one
constexpr std::uint64_t usual_rounds = test::under_sanitizer ? 200 : 1000;
const std::uint64_t rounds = test::messages_wake_sleepers() ? usual_rounds : 3;

// Sleeps as soon as it may.
const wait_options sleeping_at_once{.timeout = minutes{2}, .spins = 0};

// Devices of one rank, and an inbox by which its peer finds it.
class several {
 public:
  explicit several(runtime& rt, std::uint32_t id = 1) : runtime_{rt}, inbox_{rt}, sent_{rt} {
    for (std::uint32_t index = 0; index < device_count; ++index) {
      made_.push_back(std::make_unique<device>(rt));
      all.push_back(made_.back().get());
    }
    arrivals_ = rt.register_completion(inbox_, {.id = id});
    rt.barrier();
  }
  // To the device of the same index at the peer.
  void send(std::uint32_t index, std::uint64_t tag, std::uint32_t id = 1) {
    device& dev = *all.at(index);
    const std::uint32_t peer = (runtime_.rank() + 1) % runtime_.size();
    const status answer = test::post(
        dev, [&] { return dev.post_am(peer, {id}, const_buffer_ref{}, sent_, {.tag = tag, .device = dev.index()}); });
    EXPECT_TRUE(answer.is_done());
  }
  [[nodiscard]] std::optional<completion_record> receive() { return receive(all); }
  [[nodiscard]] std::optional<completion_record> receive(std::span<device* const> devices) {
    std::optional<completion_record> got;
    EXPECT_TRUE(runtime_.wait(
        devices, {&inbox_},
        [&] {
          got = inbox_.pop();
          return got.has_value();
        },
        sleeping_at_once));
    return got;
  }

  std::vector<device*> all;

 private:
  runtime& runtime_;
  std::vector<std::unique_ptr<device>> made_;
  completion_queue inbox_;
  completion_queue sent_;
  registration arrivals_;
};

void exchange(several& mine, std::uint32_t rank) {
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto index = static_cast<std::uint32_t>(round * round % device_count);
    if (rank == 0) mine.send(index, round);
    const auto got = mine.receive();
    ASSERT_TRUE(got && got->tag() == round) << "round " << round;
    if (rank == 1) mine.send(index, round);
  }
}

TEST(wait_several, a_message_for_any_of_the_devices_wakes_the_thread) {
  test::local_job{2}.run([](runtime& rt) {
    several mine{rt};
    exchange(mine, rt.rank());
    rt.barrier();
    test::expect_few_late_sleeps(rt, 2 * rounds);
  });
}

TEST(wait_several, the_default_device_may_be_among_them) {
  test::local_job{2}.run([](runtime& rt) {
    several mine{rt};
    mine.all.back() = &rt.default_device();
    exchange(mine, rt.rank());
    rt.barrier();
    test::expect_few_late_sleeps(rt, 2 * rounds);
  });
}

TEST(wait_several, devices_of_one_thread_will_do) {
  test::local_job{2}.run([](runtime& rt) {
    several mine{rt};
    device own{rt, {.shared = false}};
    device other_own{rt, {.shared = false}};
    mine.all.front() = &own;
    mine.all.back() = &other_own;
    rt.barrier();
    exchange(mine, rt.rank());
    rt.barrier();
    test::expect_few_late_sleeps(rt, 2 * rounds);
  });
}

// A device outside the list, that only the policy of one of them polls, wakes the thread as well.
TEST(wait_several, their_policies_poll_other_devices) {
  test::local_job{2}.run([](runtime& rt) {
    device eager{rt, {.policy = progress_policy::all}};
    several mine{rt};
    const std::array<device*, 2> both{mine.all.at(0), &eager};
    for (std::uint64_t round = 0; round < rounds / 4; ++round) {
      if (rt.rank() == 0) mine.send(2, round);
      const auto got = mine.receive(both);
      ASSERT_TRUE(got && got->tag() == round);
      if (rt.rank() == 1) mine.send(2, round);
    }
    rt.barrier();
    test::expect_few_late_sleeps(rt, rounds / 2);
  });
}

// One thread waits through all devices, and one through each: whichever looks, each gets its messages.
TEST(wait_several, threads_of_one_device_and_of_all_hand_the_looking_on) {
  test::local_job{2}.run([](runtime& rt) {
    several mine{rt, 100};
    std::array<std::unique_ptr<completion_queue>, device_count> inboxes;
    std::vector<registration> arrivals;
    for (std::uint32_t index = 0; index < device_count; ++index) {
      inboxes.at(index) = std::make_unique<completion_queue>(rt);
      arrivals.push_back(rt.register_completion(*inboxes.at(index), {.id = index}));
    }
    rt.barrier();
    {
      std::vector<std::jthread> threads;
      for (std::uint32_t index = 0; index < device_count; ++index) {
        threads.emplace_back([&, index] {
          device& dev = *mine.all.at(index);
          completion_queue sent{rt};
          const auto send = [&](std::uint64_t tag) {
            const status answer = test::post(dev, [&] {
              return dev.post_am(1 - rt.rank(), {index}, const_buffer_ref{}, sent, {.tag = tag, .device = dev.index()});
            });
            EXPECT_TRUE(answer.is_done());
          };
          for (std::uint64_t round = 0; round < rounds / 4; ++round) {
            if (rt.rank() == 0) send(round);
            const auto got = dev.wait(*inboxes.at(index), sleeping_at_once);
            EXPECT_TRUE(got && got->tag() == round) << "thread " << index << " round " << round;
            if (!got) return;
            if (rt.rank() == 1) send(round);
          }
        });
      }
      for (std::uint64_t round = 0; round < rounds / 4; ++round) {
        const auto index = static_cast<std::uint32_t>(round % device_count);
        if (rt.rank() == 0) mine.send(index, round, 100);
        const auto got = mine.receive();
        EXPECT_TRUE(got && got->tag() == round) << "round " << round;
        if (!got) break;
        if (rt.rank() == 1) mine.send(index, round, 100);
      }
    }
    rt.barrier();
    test::expect_few_late_sleeps(rt, rounds * (device_count + 1) / 2);
  });
}

TEST(wait_several, a_signal_by_any_thread_wakes_it) {
  test::local_job{1}.run([](runtime& rt) {
    several mine{rt};
    counter count{rt}, other{rt};
    for (std::uint64_t round = 1; round <= rounds / 10; ++round) {
      counter& signalled = round % 2 == 0 ? count : other;
      std::jthread signals{[&] { EXPECT_EQ(signalled.signal(completion_record{}), completion::answer::taken); }};
      EXPECT_TRUE(rt.wait(
          mine.all, {&count, &other}, [&] { return count.value() + other.value() == round; }, sleeping_at_once));
    }
    test::expect_few_late_sleeps(rt, rounds / 10);
  });
}

// Without objects no signal wakes the thread: it looks again by itself.
TEST(wait_several, objects_may_be_left_out) {
  test::local_job{2}.run([](runtime& rt) {
    several mine{rt};
    std::uint32_t seen = 0;
    handler arrives{rt, [&](completion_record&&) { ++seen; }};  // runs in this thread's progress
    {
      const auto arrivals = rt.register_completion(arrives, {.id = 2});
      rt.barrier();
      for (std::uint32_t index = 0; index < device_count; ++index) {
        mine.send(index, 0, 2);
        EXPECT_TRUE(rt.wait(
            mine.all, {}, [&] { return seen == index + 1; }, sleeping_at_once));
        rt.barrier();
      }
    }
  });
}

TEST(wait_several, fibers_wait_through_several) {
  test::local_job{2}.run([](runtime& rt) {
    several mine{rt};
    fiber_scheduler fibers{{.workers = 1, .devices = mine.all}};
    fibers.spawn([&] { exchange(mine, rt.rank()); }).join();
    rt.barrier();
  });
}

TEST(wait_several, ends_with_its_limits) {
  test::local_job{1}.run([](runtime& rt) {
    several mine{rt};
    counter never{rt};
    const auto is_never = [] { return false; };
    for (const wait_mode mode : {wait_mode::spin, wait_mode::yield, wait_mode::park})
      EXPECT_FALSE(rt.wait(mine.all, {&never}, is_never, {.timeout = milliseconds{2}, .mode = mode, .spins = 3}));
    std::stop_source source;
    std::jthread stops{[&] { source.request_stop(); }};
    EXPECT_FALSE(
        rt.wait(mine.all, {&never}, is_never, {.timeout = minutes{2}, .spins = 0, .stop = source.get_token()}));
    EXPECT_THROW(rt.wait(
                     mine.all, {&never}, []() -> bool { throw 5; }, sleeping_at_once),
                 int);
    EXPECT_TRUE(rt.wait(mine.all, {&never}, [] { return true; }, {.timeout = {}}));
    EXPECT_TRUE(rt.wait({&rt.default_device()}, {&never}, [] { return true; }, {.timeout = {}}));
  });
}

void expect_refused(const std::string& words, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "not refused: " << words;
  } catch (const error& problem) {
    EXPECT_EQ(problem.code(), errc::invalid_argument);
    EXPECT_NE(std::string{problem.what()}.find(words), std::string::npos) << problem.what();
  }
}

TEST(wait_several, wrong_devices_and_objects_are_refused) {
  test::local_job{1}.run([](runtime& mine) {
    test::local_job{1}.run([&](runtime& other) {
      device& dev = mine.default_device();
      device more{mine};
      counter own{mine}, foreign{other};
      const auto is_done = [] {
        ADD_FAILURE() << "it waits";
        return true;
      };
      expect_refused("no device", [&] { mine.wait({}, {&own}, is_done); });
      expect_refused("null", [&] { mine.wait({&dev, nullptr}, {&own}, is_done); });
      expect_refused("another runtime", [&] { mine.wait({&dev, &other.default_device()}, {&own}, is_done); });
      expect_refused("device 1 is there twice", [&] { mine.wait({&more, &dev, &more}, {&own}, is_done); });
      expect_refused("completion object", [&] { mine.wait({&dev, &more}, {&own, &foreign}, is_done); });
      expect_refused("completion object", [&] { mine.wait({&dev, &more}, {nullptr}, is_done); });
    });
  });
}

TEST(wait_several, is_refused_inside_a_handler) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    device more{rt};
    counter never{rt};
    completion_queue sent{rt};
    test::tally<> refused;
    handler waits{rt, [&](completion_record&&) {
                    try {
                      rt.wait({&dev, &more}, {&never}, [] { return true; });
                    } catch (const error& problem) {
                      if (problem.code() == errc::invalid_state) refused.add();
                    }
                  }};
    const auto arrivals = rt.register_completion(waits, {.id = 1});
    const status answer = test::post(dev, [&] { return dev.post_am(0, {1}, const_buffer_ref{}, sent); });
    EXPECT_TRUE(answer.is_done());
    EXPECT_TRUE(rt.wait(
        {&dev, &more}, {&waits}, [&] { return refused.value() == 1; }, sleeping_at_once));
  });
}

}  // namespace
}  // namespace weft::several_devices
