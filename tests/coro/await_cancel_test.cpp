// SPDX-License-Identifier: BSD-3-Clause
// A receive that is taken back: neither the request nor the destructor waits, whatever the receive is waiting for.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::eventually;
using test::local_job;

constexpr std::uint32_t receiver_first_id = 3;
const wait_options patient{.timeout = test::patience};

// A rank whose coroutines receive by a receiver-first engine.
struct receiving_rank {
  explicit receiving_rank(runtime& of) : rt{of} {}

  task<> receive(std::uint64_t tag, std::stop_token stop, std::vector<errc>& ends) {
    std::uint64_t into = 0;
    const completion_record got =
        co_await loop.post_recv(1, std::span{&into, 1}, {.tag = tag, .engine = receiver_first_id}, stop);
    ends.push_back(got.error());
  }
  [[nodiscard]] bool runs_until(auto done) {
    return eventually(dev, [&] {
      loop.run_ready();
      return done();
    });
  }

  runtime& rt;
  device& dev = rt.default_device();
  matching_engine engine{rt, {.id = receiver_first_id, .receiver_first = true}};
  run_loop loop{dev};
};

// The other rank makes no progress until the request has returned.
TEST(await_cancel, of_a_receive_that_has_announced_its_buffer_does_not_wait_for_the_sender) {
  test::flag has_returned;
  local_job{2}.run([&](runtime& rt) {
    receiving_rank me{rt};
    rt.barrier();
    if (rt.rank() == 0) {
      std::stop_source stop;
      std::vector<errc> ends;
      for (std::uint64_t tag = 0; tag < 3; ++tag) me.loop.spawn(me.receive(tag, stop.get_token(), ends));
      EXPECT_TRUE(me.runs_until([&] { return me.dev.counters().backlog.operations == 0; }));
      stop.request_stop();
      EXPECT_TRUE(ends.empty()) << "the sender has not answered";
      has_returned.raise();
      EXPECT_TRUE(me.loop.run(patient));
      EXPECT_EQ(ends, (std::vector{errc::cancelled, errc::cancelled, errc::cancelled}));
    } else {
      EXPECT_TRUE(eventually([&] { return has_returned.is_raised(); }));
    }
    rt.barrier();
  });
}

TEST(await_cancel, by_the_end_of_the_task_does_not_wait_for_the_sender_either) {
  struct marks_its_end {
    explicit marks_its_end(bool& of) : mark{&of} {}
    marks_its_end(const marks_its_end&) = delete;
    ~marks_its_end() { *mark = true; }
    bool* mark;
  };
  test::flag has_returned;
  local_job{2}.run([&](runtime& rt) {
    receiving_rank me{rt};
    rt.barrier();
    if (rt.rank() == 0) {
      bool has_gone = false;
      std::vector<errc> ends;
      const auto waits = [&]() -> task<> {
        const marks_its_end mark{has_gone};
        co_await me.receive(1, {}, ends);
      };
      const auto throws = [&]() -> task<> {
        co_await me.loop.schedule();
        throw std::runtime_error{"on purpose"};
      };
      me.loop.spawn(throws());  // ends the run, which destroys the task
      EXPECT_THROW(me.loop.run(waits()), std::runtime_error);
      EXPECT_FALSE(has_gone) << "the sender may still write into its frame";
      has_returned.raise();
      EXPECT_TRUE(me.runs_until([&] { return has_gone; }));
      EXPECT_TRUE(ends.empty()) << "it was not resumed";
    } else {
      EXPECT_TRUE(eventually([&] { return has_returned.is_raised(); }));
    }
    rt.barrier();
  });
}

// There is no room for the message that asks the sender: the loop asks later.
TEST(await_cancel, that_finds_the_ring_full_is_repeated_by_the_loop) {
  if (!test::messages_wake_sleepers()) GTEST_SKIP() << "a simulated network has room again at any moment";
  test::flag has_returned;
  local_job{2}.run([&](runtime& rt) {
    counter inbox{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    receiving_rank me{rt};
    rt.barrier();
    if (rt.rank() == 0) {
      std::stop_source stop;
      std::vector<errc> ends;
      counter unused{rt};
      for (std::uint64_t tag = 0; tag < 3; ++tag) me.loop.spawn(me.receive(tag, stop.get_token(), ends));
      EXPECT_TRUE(me.runs_until([&] { return me.dev.counters().backlog.operations == 0; }));
      const std::uint64_t word = 7;
      while (!me.dev.post_am(1, {.id = 1}, std::span{&word, 1}, unused).is_retry()) {
      }
      stop.request_stop();
      me.loop.run_ready();
      EXPECT_TRUE(ends.empty());
      has_returned.raise();
      EXPECT_TRUE(me.loop.run(patient));
      EXPECT_EQ(ends, (std::vector{errc::cancelled, errc::cancelled, errc::cancelled}));
    } else {
      EXPECT_TRUE(eventually([&] { return has_returned.is_raised(); }));
    }
    rt.barrier();
  });
}

// Requests and messages at once, by several threads: each await ends once, one way or the other.
TEST(await_cancel, at_the_moment_of_the_message_ends_each_receive_once) {
  const std::uint64_t rounds = test::messages_wake_sleepers() ? 300 : 20;
  test::tally<std::uint64_t> begun;
  local_job{2}.run([&](runtime& rt) {
    receiving_rank me{rt};
    rt.barrier();
    for (std::uint64_t round = 0; round < rounds; ++round) {
      if (rt.rank() == 0) {
        std::vector<errc> ends;
        std::stop_source stop;
        me.loop.spawn(me.receive(round, stop.get_token(), ends));
        if (round % 3 == 0) me.loop.run_ready();
        begun.add();
        std::thread other{[&] { stop.request_stop(); }};
        EXPECT_TRUE(me.loop.run(patient));
        other.join();
        ASSERT_EQ(ends.size(), 1U);
        EXPECT_TRUE(ends[0] == errc::none || ends[0] == errc::cancelled);
        if (ends[0] == errc::cancelled) {  // what was sent waits for another receive
          me.loop.spawn(me.receive(round, {}, ends));
          EXPECT_TRUE(me.loop.run(patient));
          EXPECT_EQ(ends, (std::vector{errc::cancelled, errc::none}));
        }
      } else {
        EXPECT_TRUE(eventually(me.dev, [&] { return begun.value() > round; }));
        const auto send = [&]() -> task<> {
          const completion_record sent =
              co_await me.loop.post_send(0, std::span{&round, 1}, {.tag = round, .engine = receiver_first_id});
          EXPECT_EQ(sent.error(), errc::none);
        };
        me.loop.spawn(send());
        EXPECT_TRUE(me.loop.run(patient));
      }
    }
    rt.barrier();
  });
}

// A long send whose receiver has stopped.
TEST(await_cancel, of_a_send_is_asked_of_its_target) {
  test::flag is_over;
  local_job{2}.run([&](runtime& rt) {
    run_loop loop{rt.default_device()};
    rt.barrier();
    if (rt.rank() == 0) {
      std::stop_source stop;
      std::vector<errc> ends;
      const std::vector<std::uint64_t> bytes(10'000);
      const auto sends = [&](std::uint64_t tag, std::stop_token token) -> task<> {
        const completion_record sent = co_await loop.post_send(1, std::as_bytes(std::span{bytes}), {.tag = tag}, token);
        ends.push_back(sent.error());
      };
      const auto sends_own = [&](std::stop_token token) -> task<> {
        std::vector<std::uint64_t> own(10'000);
        const completion_record sent = co_await loop.post_am(1, {99}, std::move(own), {}, token);
        ends.push_back(sent.error());
      };
      for (std::uint64_t tag = 0; tag < 3; ++tag) loop.spawn(sends(tag, stop.get_token()));
      loop.spawn(sends_own(stop.get_token()));
      loop.run_ready();
      stop.request_stop();
      EXPECT_TRUE(loop.run(patient));
      EXPECT_EQ(ends, (std::vector{errc::cancelled, errc::cancelled, errc::cancelled, errc::cancelled}));
      loop.spawn(sends(7, stop.get_token()));  // stopped before
      EXPECT_TRUE(loop.run(patient));
      EXPECT_EQ(ends.back(), errc::cancelled);
      const auto sends_short = [&](std::stop_token token) -> task<> {
        const std::uint64_t word = 1;
        const completion_record sent = co_await loop.post_send(1, std::span{&word, 1}, {.tag = 8}, token);
        EXPECT_EQ(sent.error(), errc::none) << "it was done at once";
      };
      std::stop_source other;
      loop.spawn(sends_short(other.get_token()));
      EXPECT_TRUE(loop.run(patient));
      is_over.raise();
    } else {
      EXPECT_TRUE(eventually(rt.default_device(), [&] { return is_over.is_raised(); }));
      std::uint64_t word = 0;
      counter got{rt};
      EXPECT_TRUE(test::post(rt.default_device(), [&] {
                    return rt.default_device().post_recv(0, std::span{&word, 1}, got, {.tag = 8});
                  }).is_posted());
      EXPECT_TRUE(rt.default_device().wait(got, 1, patient));
      EXPECT_EQ(rt.counters().sends_waiting, 0);
    }
    rt.barrier();
  });
}

TEST(await_cancel, of_all_that_a_loop_waits_for_ends_every_wait_once) {
  test::flag is_over;
  local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    run_loop loop{dev};
    completion_queue queue{rt};
    counter count{rt};
    rt.barrier();
    if (rt.rank() == 0) {
      int ended = 0;
      std::uint64_t into = 0;
      const std::vector<std::uint64_t> bytes(10'000);
      const auto receives = [&]() -> task<> {
        const completion_record got = co_await loop.post_recv(1, std::span{&into, 1}, {.tag = 5});
        EXPECT_EQ(got.error(), errc::cancelled);
        ++ended;
      };
      const auto sends = [&]() -> task<> {
        const completion_record sent = co_await loop.post_send(1, std::as_bytes(std::span{bytes}), {.tag = 6});
        EXPECT_EQ(sent.error(), errc::cancelled);
        ++ended;
      };
      const auto pops = [&]() -> task<> {
        EXPECT_FALSE((co_await loop.wait(queue)).has_value());
        ++ended;
      };
      const auto counts = [&]() -> task<> {
        EXPECT_FALSE(co_await loop.wait(count, 1));
        EXPECT_FALSE(co_await loop.wait(count, 2)) << "the second request ends this one";
        ++ended;
      };
      loop.spawn(receives());
      loop.spawn(sends());
      loop.spawn(pops());
      loop.spawn(counts());
      EXPECT_TRUE(eventually(dev, [&] {
        loop.run_ready();
        return loop.waits().size() == 4 && dev.counters().backlog.operations == 0;
      }));
      const auto lists = [&](operation opcode, std::uint64_t tag, const completion* object) {
        for (const loop_wait& each : loop.waits()) {
          if (each.operation == opcode && each.tag == tag && (opcode != operation::none || each.object == object))
            return opcode == operation::none || each.peer == 1;
        }
        return false;
      };
      EXPECT_TRUE(lists(operation::receive, 5, nullptr));
      EXPECT_TRUE(lists(operation::send, 6, nullptr));
      EXPECT_TRUE(lists(operation::none, 0, &queue));
      EXPECT_TRUE(lists(operation::none, 0, &count));
      loop.cancel_all();
      EXPECT_TRUE(eventually(dev, [&] {
        loop.run_ready();
        return ended == 3;
      }));
      EXPECT_EQ(loop.waits().size(), 1U);
      loop.cancel_all();
      EXPECT_TRUE(loop.run(patient));
      EXPECT_EQ(ended, 4);
      EXPECT_TRUE(loop.waits().empty());
      is_over.raise();
    } else {
      EXPECT_TRUE(eventually(dev, [&] { return is_over.is_raised(); }));
    }
    rt.barrier();
  });
}

// A ring is full, so the loop repeats the post: then there is nothing to take back.
TEST(await_cancel, of_all_ends_what_was_not_posted_yet) {
  if (!test::messages_wake_sleepers()) GTEST_SKIP() << "a simulated network has room again at any moment";
  test::flag is_over;
  local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    run_loop loop{dev};
    counter inbox{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    if (rt.rank() == 0) {
      counter unused{rt};
      const std::uint64_t word = 7;
      while (!dev.post_am(1, {.id = 1}, std::span{&word, 1}, unused).is_retry()) {
      }
      std::vector<errc> ends;
      const auto sends = [&]() -> task<> {
        ends.push_back((co_await loop.post_send(1, std::span{&word, 1}, {.tag = 3})).error());
      };
      loop.spawn(sends());
      loop.run_ready();
      const std::vector<loop_wait> waits = loop.waits();
      EXPECT_EQ(waits.size(), 1U);
      EXPECT_EQ(waits.at(0).ticket, 0U);
      EXPECT_EQ(waits.at(0).tag, 3U);
      loop.cancel_all();
      EXPECT_TRUE(loop.run(patient));
      EXPECT_EQ(ends, (std::vector{errc::cancelled}));
      is_over.raise();
    } else {
      EXPECT_TRUE(eventually([&] { return is_over.is_raised(); }));
    }
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
