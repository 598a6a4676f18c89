// SPDX-License-Identifier: BSD-3-Clause
// Posts to an ordered engine while another post to that rank is under way: the numbers of the messages, and which posts
// are posted.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/protocol/step_bench.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using core::wire;
using test::step_bench;

constexpr std::uint32_t engine_id = 5;

// An ordered engine with ways to post to rank 1 in it.
class sender {
 public:
  explicit sender(step_bench& bench)
      : bench_{&bench}, engine_{bench.rt(), {.id = engine_id, .ordered = true}}, sent_{bench.rt()} {}

  status post(std::size_t bytes, std::uint64_t tag, bool allow_retry, bool allow_done = true) {
    return bench_->dev().post_send(
        1, std::span{data_}.first(bytes), sent_,
        {.tag = tag, .engine = engine_id, .allow_done = allow_done, .allow_retry = allow_retry});
  }
  [[nodiscard]] counter& sent() noexcept { return sent_; }

 private:
  step_bench* bench_;
  matching_engine engine_;
  counter sent_;
  std::vector<std::byte> data_ = std::vector<std::byte>(100'000);
};

// Another thread acts while the next message is being sent.
template <class Act>
void meanwhile(step_bench& bench, const Act& act) {
  bench.script().meanwhile = [act] { std::thread{act}.join(); };
}

// The numbers of the messages that were sent, by tag, the first message being 0; ~0: none has this tag. The peer
// receives what is long.
std::array<std::uint32_t, 3> numbers_of(step_bench& bench) {
  std::array<std::uint32_t, 3> out{~0U, ~0U, ~0U};
  for (const test::sent_message& each : bench.script().sent) {
    out.at(each.header.tag) = each.header.sequence - core::first_order_number;
    if (each.kind() != wire::send_rts) continue;
    EXPECT_TRUE(bench.deliver(wire::fin, core::fin_body{each.body<core::rts_body>().ticket, 0}));
  }
  bench.script().sent.clear();
  return out;
}

class ordered_posts : public testing::TestWithParam<std::size_t> {};

TEST_P(ordered_posts, pass_one_that_is_under_way_if_they_may_not_be_refused) {
  step_bench::run([](step_bench& bench) {
    sender with{bench};
    meanwhile(bench, [&] { EXPECT_FALSE(with.post(GetParam(), 1, false).is_retry()); });
    EXPECT_FALSE(with.post(GetParam(), 0, true).is_retry());
    EXPECT_FALSE(with.post(GetParam(), 2, true).is_retry());
    EXPECT_EQ(numbers_of(bench), (std::array{0U, 1U, 2U}));
  });
}

TEST_P(ordered_posts, are_posted_where_they_find_no_room_and_were_passed) {
  step_bench::run([](step_bench& bench) {
    sender with{bench};
    meanwhile(bench, [&] {
      EXPECT_FALSE(with.post(GetParam(), 1, false).is_retry());
      bench.script().refusals = 1;
    });
    EXPECT_TRUE(with.post(GetParam(), 0, true).is_posted());
    EXPECT_FALSE(with.post(GetParam(), 2, true).is_retry());
    EXPECT_EQ(numbers_of(bench), (std::array{~0U, 1U, 2U}));
    bench.step();
    EXPECT_EQ(numbers_of(bench), (std::array{0U, ~0U, ~0U}));
  });
}

TEST_P(ordered_posts, give_their_number_back_where_they_find_no_room) {
  step_bench::run([](step_bench& bench) {
    sender with{bench};
    bench.script().refusals = 1;
    EXPECT_TRUE(with.post(GetParam(), 0, true).is_retry());
    EXPECT_FALSE(with.post(GetParam(), 1, true).is_retry());
    bench.script().refusals = 1;
    EXPECT_TRUE(with.post(GetParam(), 0, false).is_posted());
    EXPECT_FALSE(with.post(GetParam(), 2, true).is_retry());
    EXPECT_EQ(numbers_of(bench), (std::array{~0U, 0U, 2U}));
    bench.step();
    EXPECT_EQ(numbers_of(bench), (std::array{1U, ~0U, ~0U}));
  });
}

TEST_P(ordered_posts, signal_even_a_message_that_was_sent_at_once_if_they_may_not_be_done) {
  step_bench::run([](step_bench& bench) {
    sender with{bench};
    EXPECT_TRUE(with.post(GetParam(), 0, true, false).is_posted());
    EXPECT_EQ(with.sent().value(), GetParam() > 10'000 ? 0U : 1U);
    bench.script().refusals = 1;
    EXPECT_TRUE(with.post(GetParam(), 1, true, false).is_retry());
    EXPECT_FALSE(with.post(GetParam(), 2, true).is_retry());
    EXPECT_EQ(numbers_of(bench), (std::array{0U, ~0U, 1U}));
  });
}

TEST_P(ordered_posts, need_no_operation_where_the_message_can_be_sent_at_once) {
  constexpr std::uint32_t few = 16;
  const auto test = [](step_bench& bench) {
    sender with{bench};
    std::vector<core::operation_state*> all;
    core::operation_pool& posts = bench.state().operations().posts();
    while (core::operation_state* const one = posts.try_get()) all.push_back(one);
    const bool needs_one = GetParam() > 10'000;
    meanwhile(bench, [&] { EXPECT_TRUE(with.post(GetParam(), 1, true).is_retry()); });
    EXPECT_EQ(with.post(GetParam(), 0, true).is_retry(), needs_one);
    bench.script().meanwhile = nullptr;
    if (!needs_one) {
      EXPECT_TRUE(with.post(GetParam(), 2, false).is_done());
    }
    bench.script().refusals = 1;
    EXPECT_TRUE(with.post(GetParam(), 1, true).is_retry());
    bench.script().refusals = needs_one ? 0 : 1;
    EXPECT_THROW(static_cast<void>(with.post(GetParam(), 1, false)), error);
    for (core::operation_state* const each : all) posts.put(*each);
    bench.script().refusals = 0;
    EXPECT_FALSE(with.post(GetParam(), 1, true).is_retry());
    EXPECT_EQ(numbers_of(bench), needs_one ? (std::array{~0U, 0U, ~0U}) : (std::array{0U, 2U, 1U}));
  };
  step_bench::run(test, {.operations_max = few});
}

// A program may wait for its sends before it receives, as each of two ranks that call MPI_Send does.
TEST(ordered_posts_without_packets, wait_for_one_and_are_sent_before_their_receives) {
  step_bench::run([](step_bench& bench) {
    sender with{bench};
    core::packet_pool& packets = bench.state().memory().packets();
    std::vector<std::uint32_t> all;
    for (std::uint32_t each = packets.try_get(); each != core::packet_pool::none; each = packets.try_get())
      all.push_back(each);
    EXPECT_TRUE(with.post(1000, 0, true).is_retry());
    EXPECT_TRUE(with.post(1000, 0, false).is_posted());
    for (int i = 0; i < 3; ++i) bench.step();
    EXPECT_TRUE(bench.script().sent.empty());
    packets.put(all.back());
    all.pop_back();
    bench.step();
    EXPECT_EQ(bench.take(wire::send).header.sequence, core::first_order_number);
    EXPECT_EQ(with.sent().value(), 1U);
    for (const std::uint32_t each : all) packets.put(each);
  });
}

std::string size_name(const testing::TestParamInfo<std::size_t>& of) { return std::to_string(of.param); }
INSTANTIATE_TEST_SUITE_P(protocols, ordered_posts, testing::Values(8, 1000, 100'000),
                         size_name);  // inline, packet, RTS

// The receives of a receiver-first engine are numbered, and so is the request that takes one back.
TEST(receiver_first_posts, pass_one_that_is_under_way_if_they_may_not_be_refused) {
  step_bench::run([](step_bench& bench) {
    const matching_engine engine{bench.rt(), {.id = engine_id, .receiver_first = true}};
    completion_queue over{bench.rt()};
    std::uint64_t word = 0;
    const auto post = [&](std::uint64_t tag, bool allow_retry) {
      return bench.dev().post_recv(1, std::span{&word, 1}, over,
                                   {.tag = tag, .engine = engine_id, .allow_retry = allow_retry});
    };
    status passing = status::retry(shortage::none);
    meanwhile(bench, [&] {
      passing = post(1, false);
      bench.script().refusals = 1;
    });
    const status passed = post(0, true);
    ASSERT_TRUE(passed.is_posted() && passing.is_posted());
    EXPECT_EQ(numbers_of(bench), (std::array{~0U, 1U, ~0U}));
    bench.step();
    EXPECT_EQ(numbers_of(bench), (std::array{0U, ~0U, ~0U}));

    // The request finds no room once it has been passed: the backlog sends it.
    status last = status::retry(shortage::none);
    meanwhile(bench, [&] {
      last = post(2, false);
      bench.script().refusals = 1;
    });
    EXPECT_EQ(bench.dev().cancel(passed.ticket()), cancel_result::busy);
    EXPECT_EQ(numbers_of(bench), (std::array{~0U, ~0U, 3U}));
    bench.step();
    const test::sent_message request = bench.take(wire::withdraw_rtr);
    EXPECT_EQ(request.header.sequence - core::first_order_number, 2U);
    EXPECT_EQ(request.body<core::withdraw_rtr_body>().ticket, passed.ticket());
    for (const status& each : {passed, passing, last}) {
      const core::written_body gone{each.ticket(), 0, 0, static_cast<std::uint64_t>(errc::cancelled)};
      EXPECT_TRUE(bench.deliver(wire::written, gone));
    }
    for (int i = 0; i < 3; ++i) EXPECT_EQ(over.pop().value().error(), errc::cancelled);
  });
}

}  // namespace
}  // namespace weft
