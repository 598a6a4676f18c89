// SPDX-License-Identifier: BSD-3-Clause
// Flushes: operations that hold them up and others that do not, time limits, and flushes that signal an object.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/fiber.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::post;

std::uint64_t sent_word = 7;

// A message that a flush waits for until a receive has matched it.
void send_delivered(device& dev, std::uint32_t peer, completion& sent, std::uint64_t tag) {
  EXPECT_TRUE(post(dev, [&] {
                return dev.post_send(peer, {&sent_word, sizeof sent_word}, sent,
                                     {.tag = tag, .complete_at = completion_level::delivered});
              }).is_posted());
}

void receive(device& dev, std::uint32_t peer, std::uint64_t tag) {
  std::uint64_t got = 0;
  counter received{dev.runtime()};
  static_cast<void>(post(dev, [&] { return dev.post_recv(peer, {&got, sizeof got}, received, {.tag = tag}); }));
  EXPECT_TRUE(eventually(dev, [&] { return received.value() == 1; }));
}

TEST(flush, is_not_held_up_by_what_is_posted_after_it) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter sent{rt}, flushed{rt};
    send_delivered(dev, 0, sent, 1);
    EXPECT_TRUE(dev.post_flush(0, flushed).is_posted());
    send_delivered(dev, 0, sent, 2);
    for (int i = 0; i < 100; ++i) dev.progress();
    EXPECT_EQ(flushed.value(), 0U) << "the message before it has no receive";
    receive(dev, 0, 1);
    EXPECT_TRUE(eventually(dev, [&] { return flushed.value() == 1; })) << "the message after it has no receive";
    EXPECT_EQ(flushed.failed(), 0U);
    EXPECT_FALSE(dev.flush(0, {.timeout = 0ns}));
    receive(dev, 0, 2);
    EXPECT_TRUE(dev.flush());
    EXPECT_TRUE(eventually(dev, [&] { return sent.outstanding() == 0; }));
  });
}

// Each of them waits for a message that is posted before it, and always one message is under way.
TEST(flush, ends_where_operations_are_always_under_way) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter sent{rt}, flushed{rt};
    constexpr std::uint64_t rounds = 1000;  // many more than there are epochs
    send_delivered(dev, 0, sent, 0);
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      EXPECT_TRUE(dev.post_flush(0, flushed).is_posted());
      send_delivered(dev, 0, sent, i);
      receive(dev, 0, i - 1);
      ASSERT_TRUE(eventually(dev, [&] { return flushed.value() == i; })) << i;
    }
    receive(dev, 0, rounds);
    EXPECT_TRUE(eventually(dev, [&] { return sent.outstanding() == 0; }));
  });
}

TEST(flush, of_puts_and_atomics_is_not_held_up_by_messages) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const memory_region region{rt, std::size_t{4096}};
    counter sent{rt}, done{rt}, flushed{rt};
    send_delivered(dev, 0, sent, 1);
    static_cast<void>(post(dev, [&] { return dev.post_put(0, {&sent_word, sizeof sent_word}, region.at(8), done); }));
    EXPECT_TRUE(dev.flush(0, {.scope = flush_scope::one_sided}));
    EXPECT_TRUE(dev.flush({.scope = flush_scope::one_sided}));
    EXPECT_TRUE(dev.flush({.region = region.handle()}));
    EXPECT_TRUE(dev.flush(0, {.region = region.handle()}));
    EXPECT_EQ(region.as<std::uint64_t>()[1], sent_word);
    EXPECT_FALSE(dev.flush(0, {.timeout = 1ms}));
    EXPECT_FALSE(dev.flush({.timeout = 0ns}));
    EXPECT_TRUE(dev.post_flush(0, flushed, {.scope = flush_scope::one_sided}).is_done());
    EXPECT_TRUE(dev.post_flush(flushed, {.region = region.handle()}).is_done());
    receive(dev, 0, 1);
    EXPECT_TRUE(dev.flush(0, {.timeout = test::patience}));
    EXPECT_TRUE(eventually(dev, [&] { return sent.outstanding() == 0 && done.outstanding() == 0; }));
  });
}

// An atomic on memory of the peer's user goes by a message, which the peer answers once it makes progress.
TEST(flush, of_a_region_waits_for_that_region_alone) {
  std::array<std::array<std::uint64_t, 8>, 2> memory{};
  std::array<remote_region, 2> handles{};
  test::flag polls_no_more, may_poll;
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    std::optional<memory_region> quiet, busy;
    if (rt.rank() == 1) {
      quiet.emplace(rt, std::as_writable_bytes(std::span{memory[0]}));
      busy.emplace(rt, std::as_writable_bytes(std::span{memory[1]}));
      handles = {quiet->handle(), busy->handle()};
    }
    rt.barrier();
    if (rt.rank() == 1) {
      polls_no_more.raise();
      EXPECT_TRUE(eventually([&] { return may_poll.is_raised(); }));
    } else {
      ASSERT_TRUE(eventually([&] { return polls_no_more.is_raised(); }));
      counter done{rt}, flushed{rt};
      EXPECT_TRUE(post(dev, [&] {
                    return dev.post_atomic<std::uint64_t>(1, atomic_op::fetch_add, 5, {handles[1], 8}, done,
                                                          {.complete_at = completion_level::delivered});
                  }).is_posted());
      EXPECT_TRUE(dev.flush(1, {.region = handles[0]}));
      EXPECT_TRUE(dev.post_flush(flushed, {.region = handles[0]}).is_done());
      EXPECT_FALSE(dev.flush(1, {.region = handles[1], .timeout = 1ms}));
      EXPECT_FALSE(dev.flush(1, {.scope = flush_scope::one_sided, .timeout = 0ns}));
      EXPECT_FALSE(dev.flush(1, {.timeout = 0ns}));
      EXPECT_TRUE(dev.post_flush(1, flushed, {.region = handles[1], .context = &done}).is_posted());
      may_poll.raise();
      EXPECT_TRUE(dev.flush({.region = handles[1]}));
      EXPECT_EQ(memory[1][1], 5U);
      EXPECT_TRUE(eventually(dev, [&] { return flushed.value() == 1 && done.value() == 1; }));
    }
    rt.barrier();
  });
}

TEST(flush, that_is_posted_gives_a_record) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue ends{rt};
    const std::uint32_t peer = 1 - rt.rank();
    EXPECT_TRUE(dev.post_flush(peer, ends).is_done()) << "nothing is under way";
    int mark = 0;
    const status answer = dev.post_flush(peer, ends, {.context = &mark, .allow_done = false});
    EXPECT_TRUE(answer.is_posted());
    EXPECT_NE(answer.ticket(), 0U);
    EXPECT_EQ(dev.cancel(answer.ticket()), cancel_result::too_late);
    std::optional<completion_record> end;
    EXPECT_TRUE(eventually(dev, [&] { return (end = ends.pop()).has_value(); }));
    EXPECT_EQ(end->operation(), operation::flush);
    EXPECT_EQ(end->peer(), peer);
    EXPECT_EQ(end->error(), errc::none);
    EXPECT_EQ(end->context(), &mark);
    EXPECT_EQ(end->bytes(), 0U);
    EXPECT_EQ(ends.outstanding(), 0U);
    EXPECT_TRUE(dev.post_flush(ends, {.allow_done = false}).is_posted());
    EXPECT_TRUE(eventually(dev, [&] { return (end = ends.pop()).has_value(); }));
    EXPECT_EQ(end->peer(), 1U) << "the last rank";
    rt.barrier();
  });
}

TEST(flush, that_is_posted_waits_for_room_in_its_object) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue ends{rt, {.capacity = 1}};
    constexpr std::uint64_t count = 50;
    for (std::uint64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(dev.post_flush(ends, {.allow_done = false}).is_posted());
    }
    EXPECT_EQ(ends.outstanding(), count);
    std::uint64_t ended = 0;
    EXPECT_TRUE(eventually(dev, [&] {
      while (ends.pop()) ++ended;
      return ended == count;
    }));
    EXPECT_EQ(ends.outstanding(), 0U);
  });
}

TEST(flush, that_is_posted_outlives_its_device) {
  test::local_job{1}.run([](runtime& rt) {
    counter sent{rt}, flushed{rt};
    {
      device own{rt, {.shared = false}};
      send_delivered(own, 0, sent, 1);
      EXPECT_TRUE(own.post_flush(0, flushed).is_posted());
    }
    receive(rt.default_device(), 0, 1);
    EXPECT_TRUE(eventually(rt.default_device(), [&] { return flushed.value() == 1 && sent.value() == 1; }));
  });
}

// Posts the next one each time, from the signal of the last one.
TEST(flush, may_be_posted_by_a_handler) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    int ended = 0;
    completion* self = nullptr;
    handler next{rt, [&](completion_record&&) {
                   if (++ended < 1000) static_cast<void>(dev.post_flush(0, *self, {.allow_done = false}));
                 }};
    self = &next;
    static_cast<void>(dev.post_flush(0, next, {.allow_done = false}));
    EXPECT_TRUE(eventually(dev, [&] { return ended == 1000 && next.outstanding() == 0; }));
  });
}

class flush_limits : public ::testing::TestWithParam<bool> {
 protected:
  // In a fiber, or in a thread.
  static void run(runtime& rt, const std::function<void()>& body) {
    if (!GetParam()) return body();
    const std::array<device*, 1> served{&rt.default_device()};
    fiber_scheduler fibers{{.devices = served}};
    fibers.spawn([&] { body(); }).join();
  }
};

TEST_P(flush_limits, end_the_wait_and_leave_the_operations) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter sent{rt};
    send_delivered(dev, 0, sent, 1);
    run(rt, [&] {
      EXPECT_FALSE(dev.flush(0, {.timeout = 2ms}));
      EXPECT_FALSE(dev.flush(0, {.timeout = 0ns}));
      EXPECT_FALSE(dev.flush({.timeout = std::chrono::nanoseconds::min()}));
      std::stop_source stop;
      std::jthread stops{[&] { stop.request_stop(); }};
      EXPECT_FALSE(dev.flush(0, {.stop = stop.get_token()}));
      EXPECT_FALSE(dev.flush(0, {.stop = stop.get_token()}));
    });
    receive(dev, 0, 1);
    run(rt, [&] {
      EXPECT_TRUE(dev.flush(0, {.timeout = test::patience}));
      EXPECT_TRUE(dev.flush(0, {.timeout = 0ns})) << "nothing is under way";
    });
    EXPECT_TRUE(eventually(dev, [&] { return sent.value() == 1; }));
  });
}

INSTANTIATE_TEST_SUITE_P(of, flush_limits, ::testing::Values(false, true),
                         [](const auto& is_fiber) { return is_fiber.param ? "fibers" : "threads"; });

}  // namespace
}  // namespace weft
