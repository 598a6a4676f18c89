// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives between ranks that are threads: every size class, either side first, every policy.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace {

using weft::test::eventually;
using weft::test::post;

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>((i * 131 + seed * 17 + (i >> 8)) & 0xff);
  return out;
}

std::optional<weft::completion_record> next(weft::device& dev, weft::completion_queue& from) {
  std::optional<weft::completion_record> got;
  EXPECT_TRUE(eventually(dev, [&] { return (got = from.pop()).has_value(); }));
  return got;
}

class send_of_size : public testing::TestWithParam<std::size_t> {};

TEST_P(send_of_size, meets_its_receive_whichever_comes_first) {
  const std::size_t bytes = GetParam();
  weft::test::local_job{2}.run([&](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::completion_queue received{rt};
    weft::counter sent{rt};
    const std::uint32_t peer = 1 - rt.rank();
    const auto payload = pattern(bytes, rt.rank());
    std::vector<std::byte> early(bytes + 1, std::byte{0xee}), late(bytes + 1, std::byte{0xee});
    std::uint64_t posted = 0;

    const auto first =
        post(dev, [&] { return dev.post_recv(peer, std::span{early}.first(bytes), received, {.tag = 1}); });
    EXPECT_TRUE(first.is_posted());
    rt.barrier();
    for (std::uint64_t tag : {1, 2}) {
      posted += post(dev, [&] { return dev.post_send(peer, payload, sent, {.tag = tag}); }).is_posted();
    }
    const auto one = next(dev, received);
    rt.barrier();
    static_cast<void>(
        post(dev, [&] { return dev.post_recv(peer, std::span{late}.first(bytes), received, {.tag = 2}); }));
    const auto two = next(dev, received);

    const auto expected = pattern(bytes, peer);
    for (const auto* got : {&*one, &*two}) {
      EXPECT_EQ(got->operation(), weft::operation::receive);
      EXPECT_EQ(got->error(), weft::errc::none);
      EXPECT_EQ(got->source(), peer);
      EXPECT_EQ(got->tag(), got == &*one ? 1U : 2U);
      EXPECT_EQ(got->message_bytes(), bytes);
      EXPECT_TRUE(std::ranges::equal(got->data(), expected));
      EXPECT_TRUE(bytes == 0 || got->data().data() == early.data() || got->data().data() == late.data());
    }
    EXPECT_EQ(early[bytes], std::byte{0xee});
    EXPECT_EQ(late[bytes], std::byte{0xee});
    EXPECT_TRUE(eventually(dev, [&] { return sent.value() == posted; }));
    EXPECT_EQ(sent.failed(), 0U);
    rt.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(around_every_threshold, send_of_size,
                         testing::Values(0, 1, 8, 39, 40, 41, 64, 4096, 8191, 8192, 8193, 100'000, 1'500'000));

TEST(send_receive, too_long_for_the_buffer_is_an_error_that_writes_nothing) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::completion_queue received{rt};
    weft::counter sent{rt};
    std::uint64_t posted = 0;
    for (const std::size_t bytes : {64, 5000, 100'000}) {
      if (rt.rank() == 1) {
        const auto payload = pattern(bytes, 1);
        for (std::uint64_t tag : {1, 2}) {
          posted += post(dev, [&] { return dev.post_send(0, payload, sent, {.tag = tag}); }).is_posted();
        }
        EXPECT_TRUE(eventually(dev, [&] { return sent.value() == posted; }));
        EXPECT_EQ(sent.failed(), 0U);  // at the sender it succeeded
      } else {
        for (std::uint64_t tag : {1, 2}) {
          std::array<std::byte, 16> buffer;
          buffer.fill(std::byte{0xee});
          static_cast<void>(
              post(dev, [&] { return dev.post_recv(1, std::span{buffer}.first(8), received, {.tag = tag}); }));
          const auto got = next(dev, received);
          EXPECT_EQ(got->error(), weft::errc::truncated);
          EXPECT_EQ(got->message_bytes(), bytes);
          EXPECT_EQ(got->bytes(), 0U);
          EXPECT_TRUE(std::ranges::all_of(buffer, [](std::byte b) { return b == std::byte{0xee}; }));
        }
      }
      rt.barrier();
    }
  });
}

TEST(send_receive, policies_never_meet_each_other) {
  using weft::match_policy;
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::completion_queue received{rt};
    weft::counter sent{rt};
    constexpr std::array policies{match_policy::none, match_policy::tag_only, match_policy::rank_only,
                                  match_policy::rank_tag};
    if (rt.rank() == 1) {
      for (std::uint64_t i = 0; i < policies.size(); ++i) {
        static_cast<void>(post(dev, [&] {
          return dev.post_send(0, std::span{&i, 1}, sent, {.tag = 7, .policy = policies[i]});
        }));
      }
    } else {
      for (std::uint64_t i = policies.size(); i-- > 0;) {
        std::uint64_t value = 99;
        // A part that the policy leaves out may be anything.
        const bool by_tag = policies[i] == match_policy::tag_only || policies[i] == match_policy::rank_tag;
        static_cast<void>(post(dev, [&] {
          return dev.post_recv(1, std::span{&value, 1}, received, {.tag = by_tag ? 7U : 8U, .policy = policies[i]});
        }));
        const auto got = next(dev, received);
        EXPECT_EQ(value, i);
        EXPECT_EQ(got->tag(), 7U);
        EXPECT_EQ(got->source(), 1U);
      }
    }
    rt.barrier();
  });
}

TEST(send_receive, engines_are_spaces_of_their_own_and_may_have_a_key_of_the_users) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::completion_queue received{rt};
    weft::counter sent{rt};
    std::uint64_t tag = 0;
    if (rt.rank() == 1) {  // before the other side has made its engines
      const weft::matching_engine first{rt, {.id = 5}};
      const weft::matching_engine parity{rt,
                                         {.make_key = [](std::uint32_t, std::uint64_t of) noexcept { return of % 2; }}};
      tag = 4;
      static_cast<void>(post(dev, [&] { return dev.post_send(0, std::span{&tag, 1}, sent, {.tag = 4, .engine = 5}); }));
      static_cast<void>(post(dev, [&] {
        return dev.post_send(0, std::span{&tag, 1}, sent, {.tag = 4, .engine = parity.id()});
      }));
      rt.barrier();
      rt.barrier();
    } else {
      rt.barrier();
      const weft::matching_engine first{rt, {.id = 5}};
      const weft::matching_engine parity{rt,
                                         {.make_key = [](std::uint32_t, std::uint64_t of) noexcept { return of % 2; }}};
      for (const std::uint32_t engine : {parity.id(), first.id()}) {
        const std::uint64_t asked = engine == first.id() ? 4 : 1002;
        static_cast<void>(post(dev, [&] {
          return dev.post_recv(1, std::span{&tag, 1}, received, {.tag = asked, .engine = engine});
        }));
        EXPECT_EQ(next(dev, received)->tag(), 4U);
      }
      rt.barrier();
    }
  });
}

TEST(send_receive, a_cancelled_receive_tells_of_no_message_that_its_like_had_before) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    if (rt.rank() == 1) {
      weft::counter sent{rt};
      const std::uint64_t value = 1;
      static_cast<void>(post(rt.default_device(), [&] {
        return rt.default_device().post_send(0, std::span{&value, 1}, sent);
      }));
      return;
    }
    weft::device& dev = rt.default_device();
    weft::completion_queue received{rt};
    std::array<std::byte, 4> small{};
    static_cast<void>(post(dev, [&] { return dev.post_recv(1, small, received); }));
    const auto cut = next(dev, received);
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->error(), weft::errc::truncated);
    EXPECT_EQ(cut->message_bytes(), 8u);
    const auto ticket = post(dev, [&] { return dev.post_recv(1, small, received); }).ticket();
    EXPECT_TRUE(eventually(dev, [&] { return dev.cancel(ticket) == weft::cancel_result::cancelled; }));
    const auto cancelled = next(dev, received);
    ASSERT_TRUE(cancelled);
    EXPECT_EQ(cancelled->error(), weft::errc::cancelled);
    EXPECT_EQ(cancelled->message_bytes(), 0u);
  });
}

TEST(send_receive, cancelling_has_one_certain_outcome) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::completion_queue received{rt};
    weft::counter sent{rt};
    constexpr std::uint64_t count = 500;
    std::uint64_t cancelled = 0;
    std::vector<std::uint64_t> values(count), tickets;
    if (rt.rank() == 0) {
      for (std::uint64_t i = 0; i < count; ++i) {
        tickets.push_back(post(dev, [&] {
                            return dev.post_recv(1, std::span{&values[i], 1}, received, {.tag = i});
                          }).ticket());
      }
    }
    rt.barrier();
    if (rt.rank() == 1) {
      for (std::uint64_t i = 0; i < count; ++i) {
        static_cast<void>(post(dev, [&] { return dev.post_send(0, std::span{&i, 1}, sent, {.tag = i}); }));
      }
    } else {
      weft::test::flag over;
      std::thread other{[&] {
        while (!over.is_raised()) {
          if (!dev.progress()) std::this_thread::yield();
        }
      }};
      for (std::uint64_t i = count; i-- > 0;) {
        weft::cancel_result result = weft::cancel_result::busy;
        EXPECT_TRUE(eventually(dev, [&] { return (result = dev.cancel(tickets[i])) != weft::cancel_result::busy; }));
        cancelled += result == weft::cancel_result::cancelled;
        EXPECT_EQ(dev.cancel(tickets[i]), weft::cancel_result::too_late);
      }
      std::uint64_t got = 0, failed = 0;
      for (; got < count; ++got) failed += next(dev, received)->error() == weft::errc::cancelled;
      EXPECT_EQ(failed, cancelled);
      over.raise();
      other.join();
      EXPECT_FALSE(received.pop());
    }
    rt.barrier();
    // Messages that met no receive can still be received, and no others.
    if (rt.rank() == 0) {
      std::uint64_t left = 0;
      EXPECT_TRUE(eventually(dev, [&] {
        for (std::uint64_t i = 0; i < count; ++i) left += dev.probe(1, {.tag = i}).has_value();
        return left == cancelled;
      }));
      EXPECT_EQ(rt.counters().messages_dropped, cancelled);
    }
    rt.barrier();
  });
}

TEST(send_receive, probe_finds_a_message_and_it_is_the_callers) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::completion_queue received{rt};
    for (const std::size_t bytes : {8, 3000, 200'000}) {
      weft::counter sent{rt};
      const auto payload = pattern(bytes, 5);
      if (rt.rank() == 1) {
        const bool posted = post(dev, [&] { return dev.post_send(0, payload, sent, {.tag = 3}); }).is_posted();
        EXPECT_TRUE(eventually(dev, [&] { return sent.value() == posted; }));
      } else {
        EXPECT_FALSE(dev.probe(1, {.tag = 4}));
        std::optional<weft::matched_message> found;
        EXPECT_TRUE(eventually(dev, [&] { return (found = dev.probe(1, {.tag = 3})).has_value(); }));
        EXPECT_FALSE(dev.probe(1, {.tag = 3}));
        EXPECT_EQ(found->source(), 1U);
        EXPECT_EQ(found->tag(), 3U);
        EXPECT_EQ(found->bytes(), bytes);
        std::vector<std::byte> buffer(static_cast<std::size_t>(found->bytes()));
        EXPECT_TRUE(post(dev, [&] { return found->receive(buffer, received); }).is_posted());
        EXPECT_THROW(static_cast<void>(found->receive(buffer, received)), weft::error);
        EXPECT_TRUE(std::ranges::equal(next(dev, received)->data(), payload));
      }
      rt.barrier();
    }
  });
}

TEST(send_receive, dropped_after_a_probe_the_message_is_gone_and_its_sender_free) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::counter sent{rt};
    const auto payload = pattern(100'000, 5);
    if (rt.rank() == 1) {
      EXPECT_TRUE(post(dev, [&] { return dev.post_send(0, payload, sent, {.tag = 3}); }).is_posted());
      EXPECT_TRUE(eventually(dev, [&] { return sent.value() == 1; }));
    } else {
      EXPECT_TRUE(eventually(dev, [&] { return dev.probe(1, {.tag = 3}).has_value(); }));
      EXPECT_EQ(rt.counters().messages_dropped, 1U);
    }
    rt.barrier();
  });
}

TEST(send_receive, delivered_means_that_the_receive_has_it) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::completion_queue received{rt};
    weft::counter sent{rt};
    std::uint64_t value = 0;
    for (const std::size_t bytes : {0, 8, 100'000}) {
      std::vector<std::byte> payload = pattern(bytes, 3);
      if (rt.rank() == 1) {
        EXPECT_TRUE(post(dev, [&] {
                      return dev.post_send(0, payload, sent,
                                           {.tag = 1, .complete_at = weft::completion_level::delivered});
                    }).is_posted());
        for (int i = 0; i < 200; ++i) dev.progress();
        EXPECT_EQ(sent.value(), value);  // no receive has taken it
        rt.barrier();
        EXPECT_TRUE(eventually(dev, [&] { return sent.value() == value + 1; }));
        ++value;
        dev.flush(0);
      } else {
        rt.barrier();
        std::vector<std::byte> buffer(bytes);
        static_cast<void>(post(dev, [&] { return dev.post_recv(1, buffer, received, {.tag = 1}); }));
        EXPECT_TRUE(std::ranges::equal(next(dev, received)->data(), payload));
      }
      rt.barrier();
    }
  });
}

TEST(send_receive, lists_of_buffers_are_one_message) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::completion_queue received{rt};
    const auto arrivals = rt.register_completion(received, {.id = 1});
    for (const std::size_t bytes : {3, 40, 5000, 300'000}) {
      weft::counter sent{rt};
      const auto payload = pattern(bytes, 8);
      const std::size_t a = bytes / 3, b = bytes / 2;
      if (rt.rank() == 1) {
        const std::array<weft::const_buffer_ref, 4> pieces{
            weft::const_buffer_ref{payload.data(), a}, weft::const_buffer_ref{payload.data() + a, b - a},
            weft::const_buffer_ref{}, weft::const_buffer_ref{payload.data() + b, bytes - b}};
        const weft::const_buffer_list list{pieces};
        std::uint64_t posted = post(dev, [&] { return dev.post_send(0, list, sent, {.tag = 1}); }).is_posted();
        posted += post(dev, [&] { return dev.post_am(0, {1}, list, sent); }).is_posted();
        EXPECT_TRUE(eventually(dev, [&] { return sent.value() == posted; }));
      } else {
        const auto message = next(dev, received);
        EXPECT_EQ(message->operation(), weft::operation::message);
        EXPECT_TRUE(std::ranges::equal(message->data(), payload));
        std::vector<std::byte> buffer(bytes);
        const std::array<weft::buffer_ref, 3> pieces{weft::buffer_ref{buffer.data(), b}, weft::buffer_ref{},
                                                     weft::buffer_ref{buffer.data() + b, bytes - b}};
        static_cast<void>(post(dev, [&] { return dev.post_recv(1, weft::buffer_list{pieces}, received, {.tag = 1}); }));
        EXPECT_EQ(next(dev, received)->error(), weft::errc::none);
        EXPECT_EQ(buffer, payload);
      }
      rt.barrier();
    }
  });
}

TEST(ordered_engine, matches_in_the_order_of_posts_with_wildcards_at_the_receiver) {
  weft::test::local_job{3}.run([](weft::runtime& rt) {
    constexpr std::uint64_t count = 400;
    const weft::matching_engine engine{rt, {.id = 3, .ordered = true}};
    weft::device& dev = rt.default_device();
    weft::completion_queue received{rt};
    weft::counter sent{rt};
    if (rt.rank() != 0) {
      weft::device second{rt};
      std::uint64_t posted = 0;
      for (std::uint64_t i = 0; i < count; ++i) {
        std::vector<std::uint64_t> payload(i % 50 == 49 ? 2000 : 1 + i % 9, i);
        weft::device& through = i % 2 == 0 ? dev : second;
        posted +=
            post(through, [&] { return through.post_send(0, payload, sent, {.tag = i % 5, .engine = 3}); }).is_posted();
        // A long one is fetched from here, by way of either device.
        EXPECT_TRUE(eventually(dev, [&] {
          second.progress();
          return sent.value() == posted;
        }));
      }
      rt.barrier();
    } else {
      std::array<std::uint64_t, 3> from{};
      std::vector<std::uint64_t> buffer(2000);
      for (std::uint64_t i = 0; i < 2 * count; ++i) {
        static_cast<void>(
            post(dev, [&] { return dev.post_recv(weft::any_rank, buffer, received, {.engine = 3, .any_tag = true}); }));
        const auto got = next(dev, received);
        ASSERT_EQ(got->error(), weft::errc::none);
        EXPECT_EQ(buffer[0], from[got->source()]++);
        EXPECT_EQ(got->tag(), buffer[0] % 5);
      }
      EXPECT_EQ(from[1], count);
      EXPECT_EQ(from[2], count);
      rt.barrier();
    }
  });
}

}  // namespace
