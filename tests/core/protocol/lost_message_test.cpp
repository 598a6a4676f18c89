// SPDX-License-Identifier: BSD-3-Clause
// What becomes of operations whose messages a transport has lost, and of posts to a rank that can't be reached any
// more.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/runtime_state.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr const char* cause = "the cable was cut";
constexpr post_am_options long_one = {.allow_retry = false};

// Runs `body` at rank 0; rank 1 is there and does nothing.
void beside_a_silent_rank(const std::function<void(runtime&, core::device_state&)>& body) {
  test::local_job{2}.run([&](runtime& rt) {
    if (rt.rank() == 0) body(rt, test::local_job::state_of(rt).devices().standard());
  });
}

void lose(core::device_state& dev, core::wire kind, std::uint64_t ticket) {
  const net::header lost{.kind = static_cast<std::uint32_t>(kind), .note = static_cast<std::uint32_t>(ticket)};
  dev.on_lost(1, lost, cause);
}

void expect_failed(const std::optional<completion_record>& got) {
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->error(), errc::transport_failed);
  EXPECT_EQ(got->peer(), 1U);
}

// What `post` throws; empty where it doesn't.
template <class Post>
std::string refusal_of(const Post& post) {
  try {
    post();
  } catch (const error& reason) {
    EXPECT_EQ(reason.code(), errc::transport_failed);
    return reason.what();
  }
  return "";
}

TEST(lost_message, ends_its_operation_once_with_an_error_that_names_the_peer) {
  beside_a_silent_rank([](runtime& rt, core::device_state& state) {
    completion_queue over{rt};
    const std::vector<std::byte> bytes(rt.attributes().packet_bytes + std::size_t{1});
    const status answer = rt.default_device().post_am(1, {3}, bytes, over);
    ASSERT_TRUE(answer.is_posted());
    lose(state, core::wire::rts, answer.ticket());
    expect_failed(over.pop());
    lose(state, core::wire::rts, answer.ticket());
    EXPECT_FALSE(over.pop().has_value());
    EXPECT_EQ(over.outstanding(), 0U);
  });
}

TEST(lost_message, ends_a_receive_that_it_was_to_announce) {
  beside_a_silent_rank([](runtime& rt, core::device_state& state) {
    completion_queue over{rt};
    const matching_engine engine{rt, {.id = 3, .receiver_first = true}};
    std::byte byte{};
    const status receive = rt.default_device().post_recv(1, {&byte, 1}, over, {.engine = 3});
    ASSERT_TRUE(receive.is_posted());
    lose(state, core::wire::ready_to_receive, receive.ticket());
    expect_failed(over.pop());
    EXPECT_EQ(rt.default_device().cancel(receive.ticket()), cancel_result::too_late);
    EXPECT_NE(refusal_of([&] {
                static_cast<void>(rt.default_device().post_send(1, std::span{&byte, 1}, over, {.engine = 3}));
              }),
              "");
  });
}

TEST(lost_message, ends_no_operation_with_another_rank_and_none_that_has_not_posted_it) {
  beside_a_silent_rank([](runtime& rt, core::device_state& state) {
    completion_queue over{rt};
    std::byte byte{};
    const status receive = rt.default_device().post_recv(1, {&byte, 1}, over);
    ASSERT_TRUE(receive.is_posted());
    lose(state, core::wire::rtr, receive.ticket());  // it waits for a match
    lose(state, core::wire::send, 0);
    lose(state, core::wire::chunk, ~std::uint64_t{0});
    state.on_lost(0, {.kind = 2, .note = static_cast<std::uint32_t>(receive.ticket())}, cause);
    EXPECT_FALSE(over.pop().has_value());
    EXPECT_EQ(rt.default_device().cancel(receive.ticket()), cancel_result::cancelled);
    EXPECT_TRUE(over.pop().has_value());
  });
}

TEST(lost_message, makes_posts_that_find_no_room_say_who_can_not_be_reached_and_why) {
  beside_a_silent_rank([](runtime& rt, core::device_state& state) {
    counter sent{rt};
    device& dev = rt.default_device();
    const std::uint64_t word = 7;
    const std::vector<std::byte> middle(100), large(rt.attributes().packet_bytes + std::size_t{1});
    while (!dev.post_am(1, {3}, const_buffer_ref{&word, 8}, sent).is_retry()) {
    }
    lose(state, core::wire::active_message, 0);
    EXPECT_EQ(refusal_of([&] {
                static_cast<void>(dev.post_am(1, {3}, const_buffer_ref{&word, 8}, sent));
              }),
              "a post (active_message): messages to rank 1 can't be sent any more: the cable was cut");
    for (const auto& bytes : {middle, large}) {
      EXPECT_NE(refusal_of([&] { static_cast<void>(dev.post_am(1, {3}, bytes, sent)); }), "");
      EXPECT_NE(refusal_of([&] { static_cast<void>(dev.post_send(1, bytes, sent)); }), "");
    }
    std::optional<packet> taken = rt.try_take_packet();
    ASSERT_TRUE(taken.has_value());
    EXPECT_NE(refusal_of([&] { static_cast<void>(dev.post_am(1, {3}, *taken, 100)); }), "");
    EXPECT_FALSE(taken->is_posted());
    EXPECT_EQ(sent.outstanding(), 0U);
  });
}

TEST(lost_message, ends_operations_that_wait_for_room_with_an_error) {
  beside_a_silent_rank([](runtime& rt, core::device_state& state) {
    completion_queue over{rt};
    counter sent{rt};
    device& dev = rt.default_device();
    const std::uint64_t word = 7;
    const std::vector<std::byte> middle(100), large(rt.attributes().packet_bytes + std::size_t{1});
    while (!dev.post_am(1, {3}, const_buffer_ref{&word, 8}, sent).is_retry()) {
    }
    for (const auto& bytes : {middle, large}) {
      EXPECT_TRUE(dev.post_am(1, {3}, bytes, over, long_one).is_posted());
      EXPECT_TRUE(dev.post_send(1, bytes, over, {.allow_retry = false}).is_posted());
    }
    EXPECT_EQ(over.outstanding(), 4U);
    lose(state, core::wire::active_message, 0);
    for (int i = 0; i < 4; ++i) {
      std::optional<completion_record> got;
      ASSERT_TRUE(test::eventually(dev, [&] { return (got = over.pop()).has_value(); }));
      expect_failed(got);
    }
  });
}

TEST(lost_message, ends_a_flush_and_a_barrier) {
  beside_a_silent_rank([](runtime& rt, core::device_state& state) {
    lose(state, core::wire::put, 0);
    EXPECT_EQ(refusal_of([&] { rt.default_device().flush(1); }),
              "flush: messages to rank 1 can't be sent any more: the cable was cut");
    EXPECT_EQ(refusal_of([&] { rt.barrier(); }),
              "barrier: messages to rank 1 can't be sent any more: the cable was cut");
  });
}

}  // namespace
}  // namespace weft
