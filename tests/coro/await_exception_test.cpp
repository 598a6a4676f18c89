// SPDX-License-Identifier: BSD-3-Clause
// An exception that leaves the scope of a run loop reaches its handler, with its text: the loop destroys its tasks.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/between_threads.hpp"
#include "support/exceptions.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::eventually;
using test::local_job;
using test::text_from;

task<> throws() {
  throw std::runtime_error{"disk full"};
  co_return;
}

// Counts the frames that have it, so that a test sees that all were destroyed.
class living {
 public:
  explicit living(int& count) : count_{&count} { ++*count_; }
  living(const living& other) : living{*other.count_} {}
  ~living() { --*count_; }

 private:
  int* count_;
};

TEST(await_exception, of_a_task_comes_out_of_the_scope_of_its_loop) {
  local_job{1}.run([](runtime& rt) {
    int frames = 0;
    int resumed = 0;
    const auto receives = [&](run_loop& loop, living /*mark*/) -> task<> {
      std::uint64_t into = 0;
      static_cast<void>(co_await loop.post_recv(0, std::span{&into, 1}, {.tag = 1}));
      ++resumed;
    };
    const auto awaits = [&](run_loop& loop, living mark) -> task<> {
      static_cast<void>(co_await receives(loop, mark));
      ++resumed;
    };
    const auto joins = [&](run_loop& loop, living mark) -> task<> {
      static_cast<void>(co_await when_all(receives(loop, mark), awaits(loop, mark)));
      ++resumed;
    };
    EXPECT_EQ(text_from([&] {
                run_loop loop{rt.default_device()};
                loop.spawn(receives(loop, living{frames}));
                loop.spawn(awaits(loop, living{frames}));
                loop.spawn(joins(loop, living{frames}));
                loop.spawn(throws());
                loop.run();
              }),
              "disk full");
    EXPECT_EQ(frames, 0);
    EXPECT_EQ(resumed, 0) << "tasks may refer to what has gone with the scope";
    EXPECT_EQ(rt.counters().receives_waiting, 0);
  });
}

TEST(await_exception, leaves_whatever_the_other_tasks_wait_for) {
  local_job{1}.run([](runtime& rt) {
    int frames = 0;
    completion_queue queue{rt};
    counter count{rt};
    const auto waits_for_record = [&](run_loop& loop, living /*mark*/) -> task<> {
      static_cast<void>(co_await loop.wait(queue));
    };
    const auto waits_for_count = [&](run_loop& loop, living /*mark*/) -> task<> {
      static_cast<void>(co_await loop.wait(count, 3));
    };
    const auto waits_for_event = [](event& of, living /*mark*/) -> task<> { co_await of; };
    const auto goes_round = [](run_loop& loop, living /*mark*/) -> task<> {
      for (;;) co_await loop.schedule();
    };
    const auto has_an_event = [&](run_loop& loop, living mark) -> task<> {
      event own{loop};
      loop.spawn(waits_for_event(own, mark));
      co_await waits_for_event(own, mark);
    };
    EXPECT_EQ(text_from([&] {
                run_loop loop{rt.default_device()};
                event never{loop};
                loop.spawn(waits_for_record(loop, living{frames}));
                loop.spawn(waits_for_count(loop, living{frames}));
                loop.spawn(waits_for_event(never, living{frames}));
                loop.spawn(goes_round(loop, living{frames}));
                loop.spawn(has_an_event(loop, living{frames}));
                loop.spawn(throws());
                loop.run();
              }),
              "disk full");
    EXPECT_EQ(frames, 0);
  });
}

// Thrown by the program, before a task has begun, or with tasks that began.
TEST(await_exception, may_be_of_the_scope_itself) {
  local_job{1}.run([](runtime& rt) {
    int frames = 0;
    const auto receives = [](run_loop& loop, living /*mark*/) -> task<> {
      std::uint64_t into = 0;
      static_cast<void>(co_await loop.post_recv(0, std::span{&into, 1}, {.tag = 1}));
    };
    for (const bool runs : {false, true}) {
      EXPECT_EQ(text_from([&] {
                  run_loop loop{rt.default_device()};
                  for (int i = 0; i < 3; ++i) loop.spawn(receives(loop, living{frames}));
                  if (runs) loop.run_ready();
                  throw std::runtime_error{"no such file"};
                }),
                "no such file");
      EXPECT_EQ(frames, 0);
    }
    EXPECT_EQ(rt.counters().receives_waiting, 0);
  });
}

// The loop lives on: its tasks get an exception from the await.
TEST(await_exception, that_ends_an_event_ends_the_awaits_of_it) {
  local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    std::vector<errc> ends;
    const auto waits = [&](event& of) -> task<> {
      try {
        co_await of;
      } catch (const error& lost) {
        ends.push_back(lost.code());
      }
    };
    EXPECT_EQ(text_from([&] {
                event goes{loop};
                for (int i = 0; i < 2; ++i) loop.spawn(waits(goes));
                loop.run_ready();
                throw std::runtime_error{"disk full"};
              }),
              "disk full");
    EXPECT_TRUE(loop.run({.timeout = test::patience}));
    EXPECT_EQ(ends, (std::vector{errc::cancelled, errc::cancelled}));
  });
}

// A receive in a receiver-first engine is given up by its sender, who makes progress.
TEST(await_exception, waits_for_the_answer_of_a_peer) {
  test::flag is_over;
  local_job{2}.run([&](runtime& rt) {
    const matching_engine engine{rt, {.id = 3, .receiver_first = true}};
    rt.barrier();
    device& dev = rt.default_device();
    int frames = 0;
    const auto receives = [](run_loop& loop, living /*mark*/) -> task<> {
      std::uint64_t into = 0;
      static_cast<void>(co_await loop.post_recv(1, std::span{&into, 1}, {.tag = 1, .engine = 3}));
    };
    if (rt.rank() == 0) {
      EXPECT_EQ(text_from([&] {
                  run_loop loop{dev};
                  loop.spawn(receives(loop, living{frames}));
                  loop.spawn(throws());
                  loop.run();
                }),
                "disk full");
      EXPECT_EQ(frames, 0);
      is_over.raise();
    } else {
      EXPECT_TRUE(eventually(dev, [&] { return is_over.is_raised(); }));
    }
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
