// SPDX-License-Identifier: BSD-3-Clause
// Sends and active messages that are cancelled before their target has begun to receive them.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::eventually;
using test::local_job;

constexpr std::size_t words = 5000;  // a long message

// A rank that sends messages whose words all have one value.
class talking_rank {
 public:
  explicit talking_rank(runtime& of) : rt{of} {}

  std::uint64_t post_send(std::uint32_t peer, std::uint64_t value, const post_send_options& options = {}) {
    buffers_.emplace_back(words, value);
    const auto bytes = std::as_bytes(std::span{buffers_.back()});
    const status posted = test::post(dev, [&] { return dev.post_send(peer, bytes, ends, options); });
    EXPECT_TRUE(posted.is_posted());
    return posted.ticket();
  }
  std::uint64_t post_am(std::uint32_t peer, std::uint32_t id, std::uint64_t value) {
    buffers_.emplace_back(words, value);
    const auto bytes = std::as_bytes(std::span{buffers_.back()});
    const status posted = test::post(dev, [&] { return dev.post_am(peer, {id}, bytes, ends); });
    EXPECT_TRUE(posted.is_posted());
    return posted.ticket();
  }
  // Cancels until the answer is certain; then what the completion says.
  errc cancel(std::uint64_t ticket) {
    std::optional<completion_record> end;
    cancel_result answer = cancel_result::busy;
    EXPECT_TRUE(eventually(dev, [&] {
      if (answer == cancel_result::busy) answer = dev.cancel(ticket);
      if (!end) end = ends.pop();
      return end.has_value() && answer != cancel_result::busy;
    }));
    return end ? end->error() : errc::none;
  }
  // The word of the next message.
  std::uint64_t receive(std::uint32_t peer, const post_recv_options& options = {}) {
    std::vector<std::uint64_t> into(words);
    const auto bytes = std::as_writable_bytes(std::span{into});
    EXPECT_TRUE(test::post(dev, [&] { return dev.post_recv(peer, bytes, got_, options); }).is_posted());
    EXPECT_TRUE(eventually(dev, [&] { return got_.value() == received_ + 1; }));
    ++received_;
    return into.back();
  }
  void expect_end(errc error) {
    std::optional<completion_record> end;
    EXPECT_TRUE(eventually(dev, [&] { return (end = ends.pop()).has_value(); }));
    EXPECT_EQ(end ? end->error() : errc::user_exception, error);
  }

  runtime& rt;
  device& dev = rt.default_device();
  completion_queue ends{rt};

 private:
  counter got_{rt};
  std::uint64_t received_ = 0;
  std::vector<std::vector<std::uint64_t>> buffers_;
};

struct kind_of_send {
  matching_engine_options engine;
  match_policy policy = match_policy::rank_tag;
};

const kind_of_send kinds[] = {
    {.engine = {.id = 1}},
    {.engine = {.id = 2}, .policy = match_policy::rank_only},
    {.engine = {.id = 3}, .policy = match_policy::tag_only},
    {.engine = {.id = 4}, .policy = match_policy::none},
    {.engine = {.id = 5, .ordered = true}},
    {.engine = {.id = 6, .receiver_first = true}},
    {.engine = {.id = 7, .make_key = [](std::uint32_t, std::uint64_t tag) noexcept { return tag / 2; }}},
};

// The receive that is posted afterwards gets the message behind it.
TEST(send_cancel, of_a_send_without_a_receive_ends_it_for_both_ranks) {
  for (const std::uint32_t to : {0U, 1U}) {
    test::tally<> cancelled;
    local_job{2}.run([&](runtime& rt) {
      talking_rank me{rt};
      std::uint64_t expected = 0;
      for (const kind_of_send& kind : kinds) {
        ++expected;
        const matching_engine engine{rt, kind.engine};
        rt.barrier();
        if (rt.rank() == 0) {
          const post_send_options options{.tag = 7, .engine = engine.id(), .policy = kind.policy};
          const std::uint64_t ticket = me.post_send(to, 1, options);
          EXPECT_EQ(me.cancel(ticket), errc::cancelled) << engine.id();
          me.post_send(to, 2, options);
          cancelled.add();
        }
        if (rt.rank() == to) {
          EXPECT_TRUE(eventually(me.dev, [&] { return cancelled.value() == expected || to == 0; }));
          EXPECT_EQ(me.receive(0, {.tag = 7, .engine = engine.id(), .policy = kind.policy}), 2) << engine.id();
          EXPECT_EQ(rt.counters().sends_waiting, 0);
        }
        if (rt.rank() == 0) me.expect_end(errc::none);
        rt.barrier();
      }
    });
  }
}

TEST(send_cancel, of_a_short_send_that_waits_for_its_receive_ends_it) {
  test::flag is_cancelled;
  local_job{2}.run([&](runtime& rt) {
    talking_rank me{rt};
    rt.barrier();
    if (rt.rank() == 0) {
      const std::uint64_t word = 5;
      const status posted = test::post(me.dev, [&] {
        return me.dev.post_send(1, std::as_bytes(std::span{&word, 1}), me.ends,
                                {.complete_at = completion_level::delivered});
      });
      EXPECT_EQ(me.cancel(posted.ticket()), errc::cancelled);
      EXPECT_TRUE(eventually(me.dev, [&] { return me.dev.flush(1), true; })) << "a flush does not wait for it";
      is_cancelled.raise();
    } else {
      EXPECT_TRUE(eventually(me.dev, [&] { return is_cancelled.is_raised(); }));
    }
    rt.barrier();
  });
}

// Each message has a number there, and later ones wait for it.
TEST(send_cancel, in_an_ordered_engine_leaves_no_gap) {
  test::flag is_cancelled;
  local_job{2}.run([&](runtime& rt) {
    talking_rank me{rt};
    const matching_engine engine{rt, {.id = 5, .ordered = true}};
    rt.barrier();
    if (rt.rank() == 0) {
      const post_send_options options{.tag = 7, .engine = 5};
      me.post_send(1, 1, options);
      const std::uint64_t second = me.post_send(1, 2, options);
      me.post_send(1, 3, options);
      EXPECT_EQ(me.cancel(second), errc::cancelled);
      is_cancelled.raise();
      for (int i = 0; i < 2; ++i) me.expect_end(errc::none);
    } else {
      EXPECT_TRUE(eventually(me.dev, [&] { return is_cancelled.is_raised(); }));
      EXPECT_EQ(me.receive(0, {.tag = 7, .engine = 5}), 1);
      EXPECT_EQ(me.receive(0, {.tag = 7, .engine = 5}), 3);
    }
    rt.barrier();
  });
}

TEST(send_cancel, of_an_active_message_whose_id_is_not_registered_yet_ends_it) {
  test::flag is_cancelled;
  local_job{2}.run([&](runtime& rt) {
    talking_rank me{rt};
    rt.barrier();
    if (rt.rank() == 0) {
      EXPECT_EQ(me.cancel(me.post_am(1, 1, 7)), errc::cancelled);
      me.post_am(1, 1, 8);
      is_cancelled.raise();
      me.expect_end(errc::none);
    } else {
      EXPECT_TRUE(eventually(me.dev, [&] { return is_cancelled.is_raised(); }));
      completion_queue inbox{rt};
      const auto arrivals = rt.register_completion(inbox, {.id = 1});
      std::optional<completion_record> message;
      EXPECT_TRUE(eventually(me.dev, [&] { return (message = inbox.pop()).has_value(); }));
      EXPECT_EQ(message->data().back(), std::byte{0});
      EXPECT_EQ(message->data()[0], std::byte{8});
    }
    rt.barrier();
  });
}

TEST(send_cancel, of_an_active_message_that_waits_for_memory_ends_it) {
  struct empty_allocator final : buffer_allocator {
    void* allocate(std::size_t, std::uint32_t, std::uint64_t) noexcept override { return nullptr; }
    void deallocate(void*, std::size_t) noexcept override {}
  } none;
  test::flag is_cancelled;
  local_job{2}.run([&](runtime& rt) {
    talking_rank me{rt};
    counter inbox{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1, .allocator = &none});
    rt.barrier();
    if (rt.rank() == 0) {
      for (int i = 0; i < 3; ++i) EXPECT_EQ(me.cancel(me.post_am(1, 1, 7)), errc::cancelled);
      is_cancelled.raise();
    } else {
      EXPECT_TRUE(eventually(me.dev, [&] { return is_cancelled.is_raised(); }));
      EXPECT_EQ(inbox.value(), 0);
    }
    rt.barrier();
  });
}

TEST(send_cancel, of_what_waits_in_the_backlog_ends_it_here) {
  if (!test::messages_wake_sleepers()) GTEST_SKIP() << "a simulated network has room again at any moment";
  test::flag is_cancelled;
  local_job{2}.run([&](runtime& rt) {
    talking_rank me{rt};
    const matching_engine ordered{rt, {.id = 5, .ordered = true}};
    counter inbox{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    if (rt.rank() == 0) {
      const std::uint64_t word = 7;
      const auto bytes = std::as_bytes(std::span{&word, 1});
      std::uint64_t sent = 0;
      while (!me.dev.post_am(1, {.id = 1}, std::span{&word, 1}, me.ends).is_retry()) ++sent;
      const status message = me.dev.post_am(1, {1}, bytes, me.ends, {.allow_retry = false});
      const status send = me.dev.post_send(1, bytes, me.ends, {.tag = 9, .allow_retry = false});
      EXPECT_EQ(me.cancel(message.ticket()), errc::cancelled);
      EXPECT_EQ(me.cancel(send.ticket()), errc::cancelled);
      // Its number has been given: it is sent in any case, and complete then.
      const status numbered = me.dev.post_send(1, bytes, me.ends, {.tag = 9, .engine = 5, .allow_retry = false});
      EXPECT_EQ(me.dev.cancel(numbered.ticket()), cancel_result::busy);
      is_cancelled.raise();
      EXPECT_EQ(me.cancel(numbered.ticket()), errc::none);
      rt.barrier();
      EXPECT_EQ(rt.counters().sends_waiting, 0);
    } else {
      EXPECT_TRUE(eventually([&] { return is_cancelled.is_raised(); }));
      rt.barrier();
      EXPECT_FALSE(me.dev.probe(0, {.tag = 9}).has_value());
      std::optional<matched_message> late;
      EXPECT_TRUE(eventually(me.dev, [&] { return (late = me.dev.probe(0, {.tag = 9, .engine = 5})).has_value(); }));
    }
    rt.barrier();
  });
}

TEST(send_cancel, of_what_is_complete_or_is_no_message_is_too_late) {
  local_job{1}.run([&](runtime& rt) {
    talking_rank me{rt};
    const std::uint64_t ticket = me.post_send(0, 3);
    EXPECT_EQ(me.receive(0), 3);
    me.expect_end(errc::none);
    EXPECT_EQ(me.dev.cancel(ticket), cancel_result::too_late);
    EXPECT_EQ(me.dev.cancel(0), cancel_result::too_late);
    EXPECT_EQ(me.dev.cancel(~std::uint64_t{0}), cancel_result::too_late);
  });
}

// Receives and requests at any moment: each message is received, or cancelled.
TEST(send_cancel, at_the_moment_of_the_receive_ends_each_message_once) {
  const std::uint64_t rounds = test::messages_wake_sleepers() ? 60 : 6;
  std::array<test::tally<>, std::size(kinds)> cancelled;
  std::array<test::tally<>, std::size(kinds)> received;
  test::tally<> finished;
  local_job{2}.run([&](runtime& rt) {
    talking_rank me{rt};
    std::size_t which = 0;
    for (const kind_of_send& kind : kinds) {
      const matching_engine engine{rt, kind.engine};
      rt.barrier();
      for (std::uint64_t round = 0; round < rounds; ++round) {
        if (rt.rank() == 0) {
          const std::uint64_t ticket = me.post_send(1, round, {.tag = 7, .engine = engine.id(), .policy = kind.policy});
          for (std::uint64_t i = 0; i < round % 5; ++i) me.dev.progress();
          const errc end = me.cancel(ticket);
          EXPECT_TRUE(end == errc::none || end == errc::cancelled);
          if (end == errc::cancelled) cancelled[which].add();
          finished.add();
        } else {
          // One receive for each round that was not cancelled; a receive that is left over is cancelled.
          std::vector<std::uint64_t> into(words);
          completion_queue got{rt};
          const auto bytes = std::as_writable_bytes(std::span{into});
          for (std::uint64_t i = 0; i < round % 3; ++i) me.dev.progress();
          const status posted = test::post(me.dev, [&] {
            return me.dev.post_recv(0, bytes, got, {.tag = 7, .engine = engine.id(), .policy = kind.policy});
          });
          std::optional<completion_record> end;
          cancel_result answer = cancel_result::busy;
          EXPECT_TRUE(eventually(me.dev, [&] {
            const bool is_over = finished.value() > which * rounds + round;
            if (is_over && answer == cancel_result::busy) answer = me.dev.cancel(posted.ticket());
            if (!end) end = got.pop();
            return is_over && end.has_value();
          }));
          if (end && end->error() == errc::none) received[which].add();
        }
      }
      ++which;
      rt.barrier();
    }
  });
  for (std::size_t i = 0; i < std::size(kinds); ++i) EXPECT_EQ(cancelled[i].value() + received[i].value(), rounds) << i;
}

}  // namespace
}  // namespace weft
