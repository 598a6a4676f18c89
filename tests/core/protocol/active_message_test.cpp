// SPDX-License-Identifier: BSD-3-Clause
// Active messages between ranks that are threads: every size class, every completion object.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <latch>
#include <optional>
#include <vector>

#include "support/fixed_pools.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace {

using weft::test::eventually;
using weft::test::post_until_taken;

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>((i * 131 + seed * 17 + (i >> 8)) & 0xff);
  return out;
}

class active_message_of_size : public testing::TestWithParam<std::size_t> {};

TEST_P(active_message_of_size, arrives_whole_with_tag_and_source) {
  const std::size_t bytes = GetParam();
  weft::test::local_job{2}.run([&](weft::runtime& rt) {
    weft::completion_queue inbox{rt};
    weft::counter sent{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    const std::uint32_t peer = 1 - rt.rank();
    weft::device& dev = rt.default_device();
    const auto payload = pattern(bytes, rt.rank());
    const bool posted = post_until_taken(dev, peer, {1}, payload, sent, {.tag = 0xfedc'ba98'7654'3210 + rt.rank()});

    std::optional<weft::completion_record> got;
    ASSERT_TRUE(eventually(dev, [&] { return (got = inbox.pop()).has_value(); }));
    EXPECT_EQ(got->operation(), weft::operation::message);
    EXPECT_EQ(got->source(), peer);
    EXPECT_EQ(got->tag(), 0xfedc'ba98'7654'3210 + peer);
    EXPECT_EQ(got->error(), weft::errc::none);
    const auto expected = pattern(bytes, peer);
    ASSERT_EQ(got->bytes(), bytes);
    EXPECT_TRUE(std::ranges::equal(got->data(), expected));

    ASSERT_TRUE(eventually(dev, [&] { return sent.value() == (posted ? 1U : 0U); }));
    EXPECT_EQ(posted, bytes > rt.attributes().packet_bytes);
    rt.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(around_every_threshold, active_message_of_size,
                         testing::Values(0, 1, 7, 8, 9, 39, 40, 41, 64, 4096, 8191, 8192, 8193, 16385, 524288, 524289,
                                         3000000));

TEST(active_message, to_oneself_arrives) {
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::completion_queue inbox{rt};
    weft::counter sent{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 4'000'000'000});
    for (const std::size_t bytes : {0UL, 8UL, 41UL, 8192UL, 100000UL}) {
      const auto payload = pattern(bytes, 3);
      static_cast<void>(post_until_taken(rt.default_device(), 0, {4'000'000'000}, payload, sent, {.tag = bytes}));
      std::optional<weft::completion_record> got;
      ASSERT_TRUE(eventually(rt.default_device(), [&] { return (got = inbox.pop()).has_value(); }));
      ASSERT_EQ(got->bytes(), bytes);
      EXPECT_TRUE(std::ranges::equal(got->data(), payload));
    }
    ASSERT_TRUE(eventually(rt.default_device(), [&] { return sent.value() == 1; }));
  });
}

TEST(active_message, handler_may_answer_from_inside) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::counter sent{rt};
    weft::counter answers{rt};
    const std::uint64_t answer = 43;  // outlives the handler, as what is posted without retry must
    weft::handler echo{rt, [&](weft::completion_record&& m) {
                         const weft::status s = rt.default_device().post_am(
                             m.source(), {2}, std::span{&answer, 1}, sent, {.tag = m.tag(), .allow_retry = false});
                         EXPECT_FALSE(s.is_retry());
                       }};
    const auto echoes = rt.register_completion(echo, {.id = 1});
    const auto arrivals = rt.register_completion(answers, {.id = 2});
    rt.barrier();
    const std::uint64_t word = 42;
    for (int i = 0; i < 20; ++i) {
      static_cast<void>(post_until_taken(rt.default_device(), 1 - rt.rank(), {1}, std::span{&word, 1}, sent));
    }
    ASSERT_TRUE(eventually(rt.default_device(), [&] { return answers.value() == 20; }));
    rt.barrier();
  });
}

TEST(active_message, synchronizer_is_ready_after_all_and_keeps_the_records) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::counter sent{rt};
    weft::synchronizer three{rt, {.expected = 3}};
    const auto arrivals = rt.register_completion(three, {.id = 7});
    if (rt.rank() == 1) {
      for (std::uint64_t i = 0; i < 5; ++i) {
        static_cast<void>(post_until_taken(rt.default_device(), 0, {7}, std::span{&i, 1}, sent, {.tag = i}));
      }
    } else {
      ASSERT_TRUE(eventually(rt.default_device(), [&] { return three.is_ready(); }));
      std::vector<bool> seen(5);  // delivery has no order
      for (std::uint32_t i = 0; i < 3; ++i) {
        const auto got = three.take(i);
        ASSERT_LT(got->tag(), 5U);
        EXPECT_FALSE(seen[got->tag()]);
        seen[got->tag()] = true;
      }
      EXPECT_THROW(static_cast<void>(three.take(3)), weft::error);
      three.reset();
      EXPECT_THROW(three.reset(), weft::error);
      std::uint32_t more = 0;
      ASSERT_FALSE(three.is_ready());
      static_cast<void>(post_until_taken(rt.default_device(), 0, {7}, std::span{&more, 1}, sent, {.tag = 5}));
      ASSERT_TRUE(eventually(rt.default_device(), [&] { return three.is_ready(); }));
    }
    rt.barrier();
  });
}

TEST(active_message, for_an_id_registered_later_waits_for_it) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::counter sent{rt};
    const auto small = pattern(8, 1), middle = pattern(5000, 2), large = pattern(100000, 3);
    if (rt.rank() == 1) {
      for (const auto* payload : {&small, &middle, &large}) {
        static_cast<void>(post_until_taken(rt.default_device(), 0, {9}, *payload, sent));
      }
    }
    rt.barrier();
    if (rt.rank() == 1) {
      ASSERT_TRUE(eventually(rt.default_device(), [&] { return sent.value() == 1; }));
    } else {
      ASSERT_TRUE(eventually(rt.default_device(), [&] { return rt.counters().messages_unexpected == 3; }));
      weft::completion_queue inbox{rt};
      const auto arrivals = rt.register_completion(inbox, {.id = 9});
      std::size_t bytes = 0;
      for (int i = 0; i < 3; ++i) {
        std::optional<weft::completion_record> got;
        ASSERT_TRUE(eventually(rt.default_device(), [&] { return (got = inbox.pop()).has_value(); }));
        const auto& expected = got->bytes() == 8 ? small : got->bytes() == 5000 ? middle : large;
        EXPECT_TRUE(std::ranges::equal(got->data(), expected));
        bytes += got->bytes();
      }
      EXPECT_EQ(bytes, 105008U);
    }
    rt.barrier();
  });
}

TEST(active_message, that_came_before_its_id_is_whole_whatever_its_size) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    constexpr std::size_t sizes = 41;
    weft::counter sent{rt};
    if (rt.rank() == 1) {
      for (std::size_t bytes = 0; bytes < sizes; ++bytes) {
        const auto payload = pattern(bytes, 4);
        static_cast<void>(post_until_taken(rt.default_device(), 0, {9}, payload, sent, {.tag = bytes}));
      }
    } else {
      ASSERT_TRUE(eventually(rt.default_device(), [&] { return rt.counters().messages_unexpected == sizes; }));
      weft::completion_queue inbox{rt};
      const auto arrivals = rt.register_completion(inbox, {.id = 9});
      for (std::size_t i = 0; i < sizes; ++i) {
        std::optional<weft::completion_record> got;
        ASSERT_TRUE(eventually(rt.default_device(), [&] { return (got = inbox.pop()).has_value(); }));
        EXPECT_TRUE(std::ranges::equal(got->data(), pattern(got->tag(), 4)));
      }
    }
    rt.barrier();
  });
}

TEST(active_message, for_a_withdrawn_id_is_dropped_counted_and_told_to_the_sender_of_a_long_one) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::counter sent{rt};
    if (rt.rank() == 0) {
      weft::counter inbox{rt};
      static_cast<void>(rt.register_completion(inbox, {.id = 9}));
      EXPECT_THROW(static_cast<void>(rt.register_completion(inbox, {.id = 9})), weft::error);
    }
    rt.barrier();
    if (rt.rank() == 1) {
      const auto large = pattern(100000, 3);
      static_cast<void>(post_until_taken(rt.default_device(), 0, {9}, std::span{large}.first(100), sent));
      static_cast<void>(post_until_taken(rt.default_device(), 0, {9}, large, sent));
      ASSERT_TRUE(eventually(rt.default_device(), [&] { return sent.value() == 1; }));
      EXPECT_EQ(sent.failed(), 1U);
    } else {
      ASSERT_TRUE(eventually(rt.default_device(), [&] { return rt.counters().messages_dropped == 2; }));
    }
    rt.barrier();
  });
}

TEST(active_message, full_queue_holds_the_sender_back_and_loses_nothing) {
  constexpr std::uint64_t count = 3000;
  const auto payload_of = [](std::uint64_t i) {
    return pattern(i % 3 == 0 ? 8 : i % 3 == 1 ? 300 : 9000, static_cast<unsigned>(i));
  };
  std::latch held_back{1};
  weft::test::local_job{2}.run([&](weft::runtime& rt) {
    weft::counter sent{rt};
    weft::completion_queue inbox{rt, {.capacity = 16}};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    if (rt.rank() == 0) {
      std::vector<std::vector<std::byte>> kept;
      std::uint64_t posted = 0;
      bool met_retry = false;
      for (std::uint64_t i = 0; i < count; ++i) {
        kept.push_back(payload_of(i));
        ASSERT_TRUE(eventually(rt.default_device(), [&] {
          const weft::status s = rt.default_device().post_am(1, {1}, kept.back(), sent, {.tag = i});
          posted += s.is_posted();
          if (s.is_retry() && !met_retry) {
            met_retry = true;
            held_back.count_down();
          }
          return !s.is_retry();
        }));
      }
      ASSERT_TRUE(met_retry);
      ASSERT_TRUE(eventually(rt.default_device(), [&] { return sent.value() == posted; }));
    } else {
      // Nothing is popped until the sender has met a full ring: 3000 messages don't fit into 16 places and 256 cells.
      ASSERT_TRUE(eventually(rt.default_device(), [&] { return held_back.try_wait(); }));
      std::vector<bool> seen(count);
      for (std::uint64_t i = 0; i < count; ++i) {
        std::optional<weft::completion_record> got;
        ASSERT_TRUE(eventually(rt.default_device(), [&] { return (got = inbox.pop()).has_value(); }));
        ASSERT_LT(got->tag(), count);
        ASSERT_FALSE(seen[got->tag()]);
        seen[got->tag()] = true;
        ASSERT_TRUE(std::ranges::equal(got->data(), payload_of(got->tag())));
      }
    }
    rt.barrier();
  });
}

TEST(active_message, delivered_in_packets_to_an_object_that_is_full_at_first_is_told_of_once) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    constexpr std::uint64_t count = 20;
    weft::device& dev = rt.default_device();
    weft::counter sent{rt};
    std::uint64_t asked = 0, taken = 0;
    weft::handler inbox{rt, [&](weft::completion_record&& message) {
                          if (++asked % 3 != 0) return weft::completion::answer::full;
                          const weft::completion_record consumed{std::move(message)};
                          ++taken;
                          return weft::completion::answer::taken;
                        }};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    if (rt.rank() == 0) {
      // Several buffers can't be read at one place, so they come in packets.
      const std::vector<std::byte> payload(30'000, std::byte{7});
      const std::array<weft::const_buffer_ref, 2> pieces{weft::const_buffer_ref{payload.data(), 10'000},
                                                         weft::const_buffer_ref{payload.data() + 10'000, 20'000}};
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto once = [&] {
          return dev.post_am(1, {1}, weft::const_buffer_list{pieces}, sent,
                             {.complete_at = weft::completion_level::delivered});
        };
        EXPECT_TRUE(weft::test::post(dev, once).is_posted());
      }
      EXPECT_TRUE(eventually(dev, [&] { return sent.value() == count; }));
    } else {
      EXPECT_TRUE(eventually(dev, [&] { return taken == count; }));
    }
    rt.barrier();
    EXPECT_EQ(rt.counters().messages_refused, 0U);
    EXPECT_EQ(sent.failed(), 0U);
    rt.barrier();
  });
}

TEST(active_message, done_can_be_forbidden) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::counter inbox{rt};
    weft::completion_queue sent{rt, {.capacity = 1}};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    std::array<std::uint64_t, 3> words{1, 2, 3};
    for (std::uint64_t& word : words) {
      weft::status s = weft::status::retry(weft::shortage::none);
      ASSERT_TRUE(eventually(rt.default_device(), [&] {
        s = rt.default_device().post_am(1 - rt.rank(), {1}, std::span{&word, 1}, sent,
                                        {.context = &word, .allow_done = false});
        return !s.is_retry();
      }));
      EXPECT_TRUE(s.is_posted());
    }
    for (std::size_t i = 0; i < 3; ++i) {
      std::optional<weft::completion_record> got;
      ASSERT_TRUE(eventually(rt.default_device(), [&] { return (got = sent.pop()).has_value(); }));
      EXPECT_EQ(got->operation(), weft::operation::active_message);
      EXPECT_EQ(got->peer(), 1 - rt.rank());
      EXPECT_EQ(got->data().data(), got->context());
    }
    ASSERT_TRUE(eventually(rt.default_device(), [&] { return inbox.value() == 3; }));
    rt.barrier();
  });
}

class active_message_at_the_bound : public weft::test::fixed_pools {};

TEST_F(active_message_at_the_bound, may_not_be_refused_until_then) {
  std::latch refused_once{1};
  weft::test::local_job{2}.run([&](weft::runtime& rt) {
    weft::counter inbox{rt};
    weft::counter sent{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    if (rt.rank() == 0) {
      const std::uint64_t word = 5;
      std::uint64_t posted = 0, done = 0;
      bool refused = false;
      for (int i = 0; i < 5000 && !refused; ++i) {
        try {
          const weft::status s = rt.default_device().post_am(1, {1}, std::span{&word, 1}, sent, {.allow_retry = false});
          ASSERT_FALSE(s.is_retry());
          ++(s.is_done() ? done : posted);
        } catch (const weft::error& e) {
          EXPECT_EQ(e.code(), weft::errc::backlog_full);
          refused = true;
        }
      }
      refused_once.count_down();
      EXPECT_TRUE(refused);
      EXPECT_EQ(posted, rt.attributes().operations_max);
      rt.barrier();
      ASSERT_TRUE(eventually(rt.default_device(), [&] { return sent.value() == posted; }));
      std::uint64_t total = posted + done;
      static_cast<void>(post_until_taken(rt.default_device(), 1, {2}, std::span{&total, 1}, sent));
    } else {
      weft::completion_queue totals{rt};
      const auto told = rt.register_completion(totals, {.id = 2});
      refused_once.wait();  // nothing is consumed here until the other rank's backlog is full
      std::optional<weft::completion_record> got;
      rt.barrier();
      ASSERT_TRUE(eventually(rt.default_device(), [&] { return (got = totals.pop()).has_value(); }));
      std::uint64_t total = 0;
      std::memcpy(&total, got->data().data(), sizeof total);
      ASSERT_TRUE(eventually(rt.default_device(), [&] { return inbox.value() == total; }));
    }
    rt.barrier();
  });
}

}  // namespace
