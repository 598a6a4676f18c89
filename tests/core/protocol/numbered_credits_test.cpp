// SPDX-License-Identifier: BSD-3-Clause
// Credits for the messages of ordered engines: no message waits in its ring for the room that early ones take, early
// ones are bounded, and posts without a credit keep their order.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "core/protocol/step_bench.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using core::wire;
using test::step_bench;

constexpr std::uint32_t engine_id = 5;
constexpr std::uint32_t first = core::first_order_number;

// The bench has two ranks.
std::uint32_t credits() { return core::order_credits_of(2); }

// An ordered engine, at a rank whose peer is a script.
class side {
 public:
  explicit side(step_bench& bench, std::uint32_t id = engine_id)
      : bench_{&bench}, engine_{bench.rt(), {.id = id, .ordered = true}}, done_{bench.rt()}, inbox_{bench.rt()} {}

  status post(std::uint64_t tag, bool allow_retry = true, std::uint32_t device = any_device) {
    const std::uint64_t& word = words_.emplace_back(tag);  // read when the message is sent, which may be later
    return bench_->dev().post_send(1, std::span{&word, 1}, done_,
                                   {.tag = tag, .engine = engine_, .device = device, .allow_retry = allow_retry});
  }
  // Sends until there is no credit. Returns how many were sent.
  std::uint32_t post_all() {
    std::uint32_t count = 0;
    while (post(0).is_done()) ++count;
    return count;
  }
  // A message of the script's with this number, 0 the first. True: it is consumed.
  bool arrives(std::uint32_t number) {
    const std::uint64_t word = number;
    return bench_->deliver(wire::send, word, {.id = engine_.id(), .sequence = first + number, .tag = 1});
  }
  void receive(std::uint64_t& into) {
    ASSERT_TRUE(
        bench_->dev().post_recv(1, std::span{&into, 1}, inbox_, {.engine = engine_, .any_tag = true}).is_posted());
  }
  // How many receives are over; each has the message that is next in order.
  std::uint32_t received(std::uint32_t from) {
    std::uint32_t count = 0;
    for (; const auto record = inbox_.pop(); ++count) {
      std::uint64_t word = 0;
      std::memcpy(&word, record->data().data(), sizeof word);
      EXPECT_EQ(word, from + count);
    }
    return count;
  }

 private:
  step_bench* bench_;
  std::deque<std::uint64_t> words_;
  matching_engine engine_;
  counter done_;
  completion_queue inbox_;
};

bool notice(step_bench& bench, std::uint32_t in_order) {
  const net::header header{.kind = static_cast<std::uint32_t>(wire::order_notice), .sequence = in_order};
  return bench.deliver(header, nullptr, 0);
}

std::vector<test::sent_message> sent_of(step_bench& bench, wire kind) {
  std::vector<test::sent_message> out;
  for (const test::sent_message& each : bench.script().sent) {
    if (each.kind() == kind) out.push_back(each);
  }
  bench.script().sent.clear();
  return out;
}

TEST(numbered_credits, bound_what_a_rank_sends_before_the_peer_has_put_it_in_order) {
  step_bench::run([](step_bench& bench) {
    side some{bench}, others{bench, engine_id + 1};
    EXPECT_EQ(some.post_all(), credits());
    EXPECT_TRUE(others.post(0).is_retry());
    EXPECT_EQ(others.post(0).reason(), shortage::ring);
    EXPECT_TRUE(notice(bench, 100));
    EXPECT_EQ(others.post_all() + some.post_all(), 100U);
    EXPECT_TRUE(notice(bench, 90));  // an old one
    EXPECT_TRUE(some.post(0).is_retry());
    bench.script().sent.clear();
  });
}

// The peer's notices may all go to a device that no thread polls.
TEST(numbered_credits, are_asked_for_once_by_a_device_that_has_none) {
  step_bench::run([](step_bench& bench) {
    side here{bench};
    static_cast<void>(here.post_all());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(here.post(0).is_retry());
    std::vector<test::sent_message> asked = sent_of(bench, wire::order_request);
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked[0].header.sequence, 0U);
    EXPECT_EQ(core::asker_of(asked[0].header.kind), bench.dev().index());
    EXPECT_TRUE(notice(bench, 1));
    EXPECT_TRUE(here.post(0).is_done());
    EXPECT_TRUE(here.post(0).is_retry());
    asked = sent_of(bench, wire::order_request);
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked[0].header.sequence, 1U);
  });
}

// Another device of the peer than the one that its messages name may not be polled, either.
TEST(numbered_credits, are_asked_for_at_the_device_that_the_post_names) {
  for (const bool allow_retry : {true, false}) {
    step_bench::run([&](step_bench& bench) {
      side here{bench};
      static_cast<void>(here.post_all());
      static_cast<void>(sent_of(bench, wire::order_request));
      EXPECT_TRUE(notice(bench, 1));
      EXPECT_TRUE(here.post(0, true, 3).is_done());
      EXPECT_EQ(here.post(0, allow_retry, 3).is_retry(), allow_retry);
      const std::vector<test::sent_message> asked = sent_of(bench, wire::order_request);
      ASSERT_EQ(asked.size(), 1U);
      EXPECT_EQ(asked[0].device, 3U);
      EXPECT_TRUE(notice(bench, 2));
      bench.step();
    });
  }
}

TEST(numbered_credits, are_for_the_oldest_posts_that_may_not_be_refused) {
  step_bench::run([](step_bench& bench) {
    side here{bench};
    static_cast<void>(here.post_all());
    bench.script().sent.clear();
    for (std::uint64_t tag = 1; tag <= 3; ++tag) EXPECT_TRUE(here.post(tag, false).is_posted());
    bench.step();
    EXPECT_EQ(sent_of(bench, wire::send).size(), 0U);
    EXPECT_TRUE(notice(bench, 2));
    EXPECT_TRUE(here.post(4).is_retry());  // it may not pass them
    bench.step();
    const std::vector<test::sent_message> sent = sent_of(bench, wire::send);
    ASSERT_EQ(sent.size(), 2U);
    for (const test::sent_message& each : sent) {
      EXPECT_EQ(each.header.sequence, first + credits() + each.header.tag - 1);
      EXPECT_LE(each.header.tag, 2U);
    }
    EXPECT_TRUE(notice(bench, 4));
    bench.step();
    EXPECT_EQ(sent_of(bench, wire::send).size(), 1U);
    EXPECT_TRUE(here.post(4).is_done());
    bench.script().sent.clear();
  });
}

TEST(numbered_credits, are_no_more_than_were_used_whatever_a_peer_says) {
  step_bench::run([](step_bench& bench) {
    side here{bench};
    const std::uint32_t sent = here.post_all();
    bench.script().sent.clear();
    const std::uint64_t before = bench.rt().counters().messages_refused;
    for (const std::uint32_t count : {sent + 1, sent + 1000, 0x7fff'ffffU}) EXPECT_TRUE(notice(bench, count));
    EXPECT_EQ(bench.rt().counters().messages_refused, before + 3);
    EXPECT_TRUE(here.post(0).is_retry());
    bench.script().sent.clear();
  });
}

// An engine that ends gives back what it has kept for later.
TEST(numbered_credits, of_an_engine_that_has_ended_serve_others) {
  step_bench::run([](step_bench& bench) {
    for (std::uint32_t id = 10; id < 100; ++id) EXPECT_TRUE(side(bench, id).post(0).is_done());
    side here{bench};
    EXPECT_EQ(here.post_all(), credits() - 90);
    bench.script().sent.clear();
  });
}

TEST(numbered_credits, return_once_messages_are_in_order) {
  step_bench::run([](step_bench& bench) {
    side here{bench};
    std::vector<std::uint64_t> into(credits());
    for (std::uint64_t& each : into) here.receive(each);
    for (std::uint32_t i = 0; i < credits(); ++i) EXPECT_TRUE(here.arrives(i));
    EXPECT_EQ(here.received(0), credits());
    const std::vector<test::sent_message> notices = sent_of(bench, wire::order_notice);
    ASSERT_EQ(notices.size(), 4U);
    EXPECT_EQ(notices.back().header.sequence, credits());
  });
}

// The first message comes last. One call leaves most of the others to later ones.
TEST(numbered_credits, leave_room_for_the_message_that_all_wait_for) {
  for (const std::size_t bound : {1, 64, 4096}) {
    step_bench::run(
        [](step_bench& bench) {
          side here{bench};
          std::vector<std::uint64_t> into(credits());
          for (std::uint64_t& each : into) here.receive(each);
          for (std::uint32_t i = 1; i < credits(); ++i) ASSERT_TRUE(here.arrives(i));
          EXPECT_EQ(here.received(0), 0U);
          ASSERT_TRUE(here.arrives(0));
          std::uint32_t count = here.received(0);
          EXPECT_EQ(count, core::ordered_matching::early_max + 1);
          for (int calls = 0; calls < 100 && count != credits(); ++calls) {
            bench.step();
            const std::uint32_t more = here.received(count);
            EXPECT_LE(more, core::ordered_matching::early_max);
            count += more;
          }
          EXPECT_EQ(count, credits());
          EXPECT_EQ(sent_of(bench, wire::order_notice).back().header.sequence, credits());
        },
        {.unexpected_sends_max = bound});
  }
}

// Messages in order without a receive use up the bound; others are early. No credit returns before room is left.
TEST(numbered_credits, do_not_return_while_more_messages_wait_for_receives_than_may) {
  step_bench::run(
      [](step_bench& bench) {
        side here{bench};
        for (std::uint32_t i = 1; i < credits(); ++i) ASSERT_TRUE(here.arrives(i));
        ASSERT_TRUE(here.arrives(0));
        for (int calls = 0; calls < 20; ++calls) bench.step();
        EXPECT_EQ(sent_of(bench, wire::order_notice).size(), 0U);
        std::vector<std::uint64_t> into(credits());
        std::uint32_t count = 0;
        for (; count < credits() - 3; ++count) here.receive(into[count]);
        bench.step();
        EXPECT_EQ(here.received(0), count);
        const std::vector<test::sent_message> notices = sent_of(bench, wire::order_notice);
        ASSERT_EQ(notices.size(), 1U);
        EXPECT_EQ(notices[0].header.sequence, credits());
        for (; count < credits(); ++count) here.receive(into[count]);
        EXPECT_EQ(here.received(credits() - 3), 3U);
      },
      {.unexpected_sends_max = 4});
}

// A peer that numbers messages without credits holds up itself alone.
TEST(numbered_credits, bound_what_a_wild_peer_leaves_here) {
  step_bench::run([](step_bench& bench) {
    side here{bench};
    std::uint32_t taken = 0;
    for (std::uint32_t i = 1; i <= 2 * credits(); ++i) taken += here.arrives(i) ? 1 : 0;
    EXPECT_EQ(taken, credits());
    ASSERT_TRUE(here.arrives(0));
    for (int calls = 0; calls < 20; ++calls) bench.step();
    EXPECT_TRUE(here.arrives(credits() + 1));
    bench.script().sent.clear();
  });
}

// Messages for an engine that is not made yet, or has ended, give their credits back; once.
TEST(numbered_credits, return_though_there_is_no_engine) {
  step_bench::run([](step_bench& bench) {
    const std::uint32_t quarter = credits() / 4;
    const auto arrive = [&](std::uint32_t id, std::uint32_t number) {
      const std::uint64_t word = number;
      return bench.deliver(wire::send, word, {.id = id, .sequence = first + number, .tag = 1});
    };
    for (std::uint32_t i = quarter; i-- != 0;) ASSERT_TRUE(arrive(engine_id, i));
    std::vector<test::sent_message> notices = sent_of(bench, wire::order_notice);
    ASSERT_EQ(notices.size(), 1U);
    EXPECT_EQ(notices[0].header.sequence, quarter);
    {
      side here{bench};
      std::vector<std::uint64_t> into(quarter);
      for (std::uint64_t& each : into) here.receive(each);
      std::uint32_t count = 0;
      for (int calls = 0; calls < 100 && count != quarter; ++calls) {
        bench.step();
        count += here.received(count);
      }
      EXPECT_EQ(count, quarter);
      EXPECT_EQ(sent_of(bench, wire::order_notice).size(), 0U);
      EXPECT_TRUE(here.arrives(quarter + 1));  // early; it is dropped with the engine
    }
    for (std::uint32_t i = 2; i <= quarter; ++i) ASSERT_TRUE(arrive(engine_id, quarter + i));
    notices = sent_of(bench, wire::order_notice);
    ASSERT_EQ(notices.size(), 1U);
    EXPECT_EQ(notices[0].header.sequence, 2 * quarter);
  });
}

TEST(numbered_credits, return_later_where_there_is_no_room_for_the_notice) {
  step_bench::run([](step_bench& bench) {
    side here{bench};
    std::vector<std::uint64_t> into(credits() / 4);
    for (std::uint64_t& each : into) here.receive(each);
    bench.script().refusals = 3;
    for (std::uint32_t i = 0; i < credits() / 4; ++i) EXPECT_TRUE(here.arrives(i));
    EXPECT_EQ(here.received(0), credits() / 4);
    EXPECT_EQ(sent_of(bench, wire::order_notice).size(), 0U);
    for (int calls = 0; calls < 4; ++calls) bench.step();
    EXPECT_EQ(sent_of(bench, wire::order_notice).size(), 1U);
    bench.step();
    EXPECT_EQ(sent_of(bench, wire::order_notice).size(), 0U);
  });
}

// A device that is polled gets the notice that another one would have got.
TEST(numbered_credits, come_to_the_device_that_asks) {
  step_bench::run([](step_bench& bench) {
    side here{bench};
    const auto ask = [&](std::uint32_t device, std::uint32_t known) {
      const net::header header{.kind = core::asking_word(wire::order_request, device), .sequence = known};
      return bench.deliver(header, nullptr, 0);
    };
    std::uint64_t into[2] = {};
    for (std::uint64_t& each : into) here.receive(each);
    EXPECT_TRUE(ask(7, 0));
    EXPECT_EQ(sent_of(bench, wire::order_notice).size(), 0U);  // there is no news
    for (std::uint32_t i = 2; i < credits(); ++i) EXPECT_TRUE(here.arrives(i));
    EXPECT_TRUE(here.arrives(0));
    EXPECT_TRUE(here.arrives(1));
    for (int calls = 0; calls < 20; ++calls) bench.step();
    std::vector<test::sent_message> notices = sent_of(bench, wire::order_notice);
    ASSERT_FALSE(notices.empty());
    EXPECT_EQ(notices[0].device, 7U);
    EXPECT_TRUE(ask(9, notices[0].header.sequence - 1));
    notices = sent_of(bench, wire::order_notice);
    ASSERT_EQ(notices.size(), 1U);
    EXPECT_EQ(notices[0].device, 9U);
  });
}

}  // namespace
}  // namespace weft
