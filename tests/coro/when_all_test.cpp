// SPDX-License-Identifier: BSD-3-Clause
// Tasks awaited together: all start in order, the one that awaits is resumed once, when the last has ended.
#include "weft/when_all.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <variant>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/await.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

const wait_options a_minute{.timeout = std::chrono::seconds{60}};

task<int> give(int value) { co_return value; }

task<> fail(std::string why) {
  throw std::runtime_error{why};
  co_return;
}

TEST(when_all, gives_back_what_each_task_does) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    std::vector<int> order;
    const auto number = [&]() -> task<int> {
      order.push_back(1);
      co_await loop.schedule();
      order.push_back(4);
      co_return 7;
    };
    const auto nothing = [&]() -> task<> {
      order.push_back(2);
      co_return;
    };
    const auto pointer = [&]() -> task<std::unique_ptr<std::string>> {
      order.push_back(3);
      co_return std::make_unique<std::string>("text");
    };
    const auto all = [&]() -> task<> {
      auto [a, b, c] = co_await when_all(number(), nothing(), pointer());
      static_assert(std::is_same_v<decltype(b), std::monostate>);
      EXPECT_EQ(a, 7);
      EXPECT_EQ(*c, "text");
      order.push_back(5);
      EXPECT_EQ(co_await when_all(), std::tuple<>{});
    };
    loop.run(all());
    EXPECT_EQ(order, (std::vector{1, 2, 3, 4, 5}));
  });
}

TEST(when_all, takes_any_number_of_tasks) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    const auto sum = [](int count) -> task<int> {
      std::vector<task<int>> tasks;
      for (int i = 0; i < count; ++i) tasks.push_back(give(i));
      int out = 0;
      for (const int each : co_await when_all(std::move(tasks))) out += each;
      std::vector<task<>> none;
      EXPECT_TRUE((co_await when_all(std::move(none))).empty());
      co_return out;
    };
    EXPECT_EQ(loop.run(sum(0)), 0);
    EXPECT_EQ(loop.run(sum(1)), 0);
    EXPECT_EQ(loop.run(sum(10)), 45);
  });
}

TEST(when_all, throws_what_the_first_task_throws_when_all_have_ended) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    int ended = 0;
    const auto late = [&](bool fails) -> task<> {
      co_await loop.schedule();
      ++ended;
      if (fails) throw std::runtime_error{"first"};
    };
    const auto all = [&](bool as_vector) -> task<std::string> {
      try {
        if (as_vector) {
          std::vector<task<>> tasks;
          for (const bool fails : {false, true, false}) tasks.push_back(late(fails));
          tasks.push_back(fail("second"));
          static_cast<void>(co_await when_all(std::move(tasks)));
        } else {
          static_cast<void>(co_await when_all(late(false), late(true), fail("second"), late(false)));
        }
      } catch (const std::runtime_error& thrown) {
        co_return thrown.what();
      }
      co_return "nothing";
    };
    EXPECT_EQ(loop.run(all(false)), "first");
    EXPECT_EQ(ended, 3);
    EXPECT_EQ(loop.run(all(true)), "first");
    EXPECT_EQ(ended, 6);
  });
}

// Many that end immediately, one inside the other, and one after the other.
TEST(when_all, needs_no_stack_for_its_length) {
  struct nest {
    static task<int> of(int depth) {
      if (depth == 0) co_return 0;
      const auto [inner, one] = co_await when_all(of(depth - 1), give(1));
      co_return inner + one;
    }
  };
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    const auto wide = []() -> task<std::size_t> {
      std::vector<task<int>> tasks;
      for (int i = 0; i < 100'000; ++i) tasks.push_back(give(i));
      co_return (co_await when_all(std::move(tasks))).size();
    };
    const auto again = []() -> task<int> {
      int sum = 0;
      for (int i = 0; i < 100'000; ++i) {
        const auto [one, two] = co_await when_all(give(1), give(2));
        sum += one + two;
      }
      co_return sum;
    };
    EXPECT_EQ(loop.run(wide()), 100'000u);
    EXPECT_EQ(loop.run(nest::of(20'000)), 20'000);
    EXPECT_EQ(loop.run(again()), 300'000);
  });
}

TEST(when_all, awaits_operations_under_way_at_the_same_time) {
  test::local_job{2}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    const std::uint32_t peer = 1 - rt.rank();
    // Each receives first: one after the other they would wait for ever.
    const auto receive = [&](std::uint64_t tag) -> task<std::uint64_t> {
      std::uint64_t in = 0;
      const completion_record got = co_await loop.post_recv(peer, std::span{&in, 1}, {.tag = tag});
      EXPECT_EQ(got.error(), errc::none);
      co_return in;
    };
    const auto send = [&](std::uint64_t tag) -> task<> {
      std::array<std::uint64_t, 1> out{tag * 10};
      const completion_record sent = co_await loop.post_send(peer, out, {.tag = tag});
      EXPECT_EQ(sent.error(), errc::none);
    };
    const auto both = [&]() -> task<std::uint64_t> {
      const auto [a, b, c, d] = co_await when_all(receive(1), receive(2), send(2), send(1));
      co_return a * 100 + b;
    };
    EXPECT_EQ(loop.run(both()), 1020u);
    rt.barrier();
  });
}

// Its tasks refer to objects in the frame of the one that awaits them: that frame goes last, and all of it.
TEST(when_all, that_is_destroyed_goes_when_nothing_refers_to_any_of_its_tasks) {
  struct tells_when_it_goes {
    explicit tells_when_it_goes(int& of) : count{&of} {}
    tells_when_it_goes(const tells_when_it_goes&) = delete;
    ~tells_when_it_goes() { ++*count; }
    int* count;
  };
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    run_loop loop{dev};
    event first{loop}, second{loop};
    int gone = 0;
    const auto wait = [&](event& on) -> task<> {
      const tells_when_it_goes mark{gone};
      co_await on;
      ADD_FAILURE() << "was destroyed";
    };
    const auto receive = [&](std::vector<std::byte>& into) -> task<> {
      const tells_when_it_goes mark{gone};
      static_cast<void>(co_await loop.post_recv(0, into, {.tag = 9}));
      ADD_FAILURE() << "was destroyed";
    };
    const auto inner = [&]() -> task<> {
      const tells_when_it_goes mark{gone};
      std::vector<std::byte> buffer(100);
      static_cast<void>(co_await when_all(wait(second), receive(buffer), give(1)));
    };
    const auto outer = [&]() -> task<> {
      const tells_when_it_goes mark{gone};
      static_cast<void>(co_await when_all(give(1), wait(first), inner()));
    };
    loop.spawn(fail("on purpose"));  // ends the run, so that the other one is dropped
    EXPECT_THROW(loop.run(outer()), std::runtime_error);
    EXPECT_EQ(gone, 0) << "the loop refers to the receive, which was taken back";
    EXPECT_TRUE(test::eventually(dev, [&] {
      loop.run_ready();
      return gone == 5;
    })) << "the events don't refer to any part of it";
    first.set();
    second.set();
    EXPECT_EQ(loop.run_ready(), 0U);
    // Nothing refers to any: gone immediately.
    gone = 0;
    const auto never = [&]() -> task<> {
      const tells_when_it_goes mark{gone};
      co_await std::suspend_always{};
    };
    const auto lost = [&]() -> task<> { static_cast<void>(co_await when_all(never(), never())); };
    loop.spawn(fail("on purpose"));
    EXPECT_THROW(loop.run(lost()), std::runtime_error);
    EXPECT_EQ(gone, 2);
  });
}

task<int> sum_of(std::vector<task<int>> tasks) {
  int sum = 0;
  for (const int each : co_await when_all(std::move(tasks))) sum += each;
  co_return sum;
}

TEST(when_all, counts_tasks_that_end_in_different_threads) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    test::tally<std::uint32_t> steps;
    const int repeats = test::messages_wake_sleepers() ? 200 : 20;
    const auto hop = [&](int times) -> task<int> {
      for (int i = 0; i < times; ++i) co_await loop.schedule();
      steps.add();
      co_return times;
    };
    const auto all = [&]() -> task<> {
      for (int round = 0; round < repeats; ++round) {
        std::vector<task<int>> tasks;
        for (int i = 0; i < 8; ++i) tasks.push_back(hop(i % 3));
        const auto [sum, one] = co_await when_all(sum_of(std::move(tasks)), hop(1));
        EXPECT_EQ(sum, 7);
        EXPECT_EQ(one, 1);
      }
    };
    for (int i = 0; i < 4; ++i) loop.spawn(all());
    std::thread other{[&] { EXPECT_TRUE(loop.run(a_minute)); }};
    EXPECT_TRUE(loop.run(a_minute));
    other.join();
    EXPECT_EQ(steps.value(), 4u * 9 * static_cast<std::uint32_t>(repeats));
  });
}

}  // namespace
}  // namespace weft
