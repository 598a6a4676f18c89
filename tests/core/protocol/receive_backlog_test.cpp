// SPDX-License-Identifier: BSD-3-Clause
// Receives that may not answer retry, while other threads hold the place where they are to wait.
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "core/protocol/arrive_send.hpp"
#include "core/runtime/runtime_state.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// Calls `act` while the lock is held under which the receive `ticket` waits.
template <class Act>
void while_its_place_is_held(core::runtime_state& state, std::uint64_t ticket, const Act& act) {
  core::operation_state* const waiting = state.operations().receives().find(ticket, core::step::wait_for_match);
  ASSERT_NE(waiting, nullptr);
  const auto hold = [&](const core::match_node&) {
    act();
    return false;
  };
  const core::engine_state& engine = *waiting->receiving.engine.load();
  core::matched_messages released;
  const core::match_result result = engine.is_ordered() ? engine.ordered->remove(*waiting, hold, released)
                                                        : state.matching().table().remove(*waiting, hold);
  EXPECT_EQ(result, core::match_result::none);
  EXPECT_EQ(released.first, nullptr);
}

class receive_backlog : public testing::TestWithParam<bool> {};

TEST_P(receive_backlog, keeps_a_receive_however_often_its_place_is_taken) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine engine{rt, {.ordered = GetParam()}};
    completion_queue received{rt};
    counter sent{rt};
    const post_recv_options options{.tag = 7, .engine = engine.id(), .allow_retry = false};
    std::array<std::byte, 8> first{}, second{}, message{std::byte{1}, std::byte{2}};
    const status one = dev.post_recv(0, std::span{first}, received, options);
    status two = status::retry(shortage::none);
    while_its_place_is_held(test::local_job::state_of(rt), one.ticket(), [&] {
      two = dev.post_recv(0, std::span{second}, received, options);
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(dev.cancel(two.ticket()), cancel_result::busy) << "it waits for nothing yet, and nothing met it";
        dev.progress();
      }
    });
    ASSERT_TRUE(two.is_posted());
    for (int i = 0; i < 2; ++i) {
      static_cast<void>(test::post(
          dev, [&] { return dev.post_send(0, std::span{message}, sent, {.tag = 7, .engine = engine.id()}); }));
    }
    int came = 0;
    EXPECT_TRUE(test::eventually(dev, [&] {
      came += received.pop().has_value();
      return came == 2;
    }));
    EXPECT_EQ(first, message);
    EXPECT_EQ(second, message);
  });
}

// A receive of an ordered engine keeps its place, whatever thread is inside the engine when it is posted.
TEST(ordered_receives, that_may_not_be_refused_are_not_passed_by_later_ones) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine engine{rt, {.ordered = true}};
    completion_queue received{rt};
    counter sent{rt};
    const post_recv_options options{.tag = 7, .engine = engine, .allow_retry = false};
    std::array<std::uint64_t, 4> into{};
    const auto post = [&](std::size_t i, bool any_tag) {
      post_recv_options mine = options;
      mine.any_tag = any_tag;
      EXPECT_TRUE(dev.post_recv(0, std::span{&into[i], 1}, received, mine).is_posted());
    };
    const status one = dev.post_recv(0, std::span{into}.first(1), received, options);
    while_its_place_is_held(test::local_job::state_of(rt), one.ticket(), [&] {
      post(1, true);
      post(2, false);
    });
    post(3, false);
    for (std::uint64_t i = 1; i <= 4; ++i) {
      static_cast<void>(test::post(dev, [&] {
        return dev.post_send(0, std::span{&i, 1}, sent, {.tag = 7, .engine = engine});
      }));
    }
    int came = 0;
    EXPECT_TRUE(test::eventually(dev, [&] {
      came += received.pop().has_value();
      return came == 4;
    }));
    EXPECT_EQ(into, (std::array<std::uint64_t, 4>{1, 2, 3, 4}));
  });
}

// The thread that was inside delivers what the receive matches.
TEST(ordered_receives, that_were_left_with_another_thread_take_the_messages_that_wait) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine engine{rt, {.ordered = true}};
    completion_queue received{rt};
    counter sent{rt};
    std::uint64_t word = 5, into = 0, unused = 0;
    static_cast<void>(test::post(dev, [&] {
      return dev.post_send(0, std::span{&word, 1}, sent, {.tag = 7, .engine = engine});
    }));
    const status one = dev.post_recv(0, std::span{&unused, 1}, received, {.tag = 8, .engine = engine});
    ASSERT_TRUE(one.is_posted());
    core::runtime_state& state = test::local_job::state_of(rt);
    core::operation_state* const waiting = state.operations().receives().find(one.ticket(), core::step::wait_for_match);
    ASSERT_NE(waiting, nullptr);
    core::engine_state& in = *waiting->receiving.engine.load();
    core::matched_messages released;
    EXPECT_TRUE(test::eventually(dev, [&] {
      core::ordered_counts counted;
      return in.ordered->try_count(counted, released) && counted.messages == 1;
    }));
    // The thread that is inside while the other receive is posted.
    const auto hold = [&](const core::match_node&) {
      EXPECT_TRUE(dev.post_recv(0, std::span{&into, 1}, received, {.tag = 7, .engine = engine, .allow_retry = false})
                      .is_posted());
      return false;
    };
    EXPECT_EQ(in.ordered->remove(*waiting, hold, released), core::match_result::none);
    ASSERT_NE(released.first, nullptr);
    EXPECT_FALSE(received.pop().has_value());
    core::arrive_send::deliver_all(state.devices().standard(), released);
    const std::optional<completion_record> got = received.pop();
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->tag(), 7U);
    EXPECT_EQ(into, 5U);
    EXPECT_EQ(dev.cancel(one.ticket()), cancel_result::cancelled);
    static_cast<void>(received.pop());
  });
}

TEST_P(receive_backlog, lets_a_receive_be_cancelled_that_waited_in_it) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine engine{rt, {.ordered = GetParam()}};
    completion_queue received{rt};
    const post_recv_options options{.tag = 7, .engine = engine.id(), .allow_retry = false};
    std::array<std::byte, 8> first{}, second{};
    const status one = dev.post_recv(0, std::span{first}, received, options);
    status two = status::retry(shortage::none);
    while_its_place_is_held(test::local_job::state_of(rt), one.ticket(),
                            [&] { two = dev.post_recv(0, std::span{second}, received, options); });
    ASSERT_TRUE(two.is_posted());
    for (const status& each : {two, one}) {
      cancel_result result = cancel_result::busy;
      EXPECT_TRUE(test::eventually(dev, [&] { return (result = dev.cancel(each.ticket())) != cancel_result::busy; }));
      EXPECT_EQ(result, cancel_result::cancelled);
      std::optional<completion_record> record;
      EXPECT_TRUE(test::eventually(dev, [&] { return (record = received.pop()).has_value(); }));
      EXPECT_EQ(record->error(), errc::cancelled);
      EXPECT_EQ(dev.cancel(each.ticket()), cancel_result::too_late);
    }
  });
}

TEST_P(receive_backlog, ends_a_process_that_destroys_the_engine_of_a_receive_that_waits_in_it) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto wrong = [](runtime& rt) {
    device& dev = rt.default_device();
    std::optional<matching_engine> engine{std::in_place, rt, matching_engine_options{.ordered = GetParam()}};
    counter received{rt};
    const post_recv_options options{.tag = 7, .engine = engine->id(), .allow_retry = false};
    std::array<std::byte, 8> first{}, second{};
    const status one = dev.post_recv(0, std::span{first}, received, options);
    while_its_place_is_held(test::local_job::state_of(rt), one.ticket(),
                            [&] { static_cast<void>(dev.post_recv(0, std::span{second}, received, options)); });
    if (dev.cancel(one.ticket()) == cancel_result::cancelled) engine.reset();
  };
  EXPECT_DEATH(test::local_job{1}.run(wrong), "wrong use: a matching engine is destroyed while receives are posted");
}

TEST_P(receive_backlog, tells_who_asks_in_its_own_completion_that_it_is_too_late) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine engine{rt, {.ordered = GetParam()}};
    counter sent{rt}, first_came{rt};
    std::uint64_t ticket = 0;
    std::optional<cancel_result> answer;
    handler second_came{rt, [&](completion_record&&) { answer = dev.cancel(ticket); }};
    std::array<std::byte, 8> first{}, second{}, message{};
    const post_recv_options options{.tag = 7, .engine = engine.id(), .allow_retry = false};
    const status one = dev.post_recv(0, std::span{first}, first_came, options);
    while_its_place_is_held(test::local_job::state_of(rt), one.ticket(),
                            [&] { ticket = dev.post_recv(0, std::span{second}, second_came, options).ticket(); });
    dev.progress();  // it waits in its engine now
    for (int i = 0; i < 2; ++i) {
      static_cast<void>(test::post(
          dev, [&] { return dev.post_send(0, std::span{message}, sent, {.tag = 7, .engine = engine.id()}); }));
    }
    EXPECT_TRUE(test::eventually(dev, [&] { return answer.has_value(); }));
    EXPECT_EQ(answer, cancel_result::too_late);
    EXPECT_TRUE(test::eventually(dev, [&] { return first_came.value() == 1; }));
  });
}

INSTANTIATE_TEST_SUITE_P(engines, receive_backlog, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "ordered" : "unordered"; });

}  // namespace
}  // namespace weft
