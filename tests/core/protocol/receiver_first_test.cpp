// SPDX-License-Identifier: BSD-3-Clause
// Engines whose receivers begin: every size class, either side first, in the order of the posts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/message/message_body.hpp"
#include "core/runtime/runtime_state.hpp"
#include "support/between_threads.hpp"
#include "support/boundaries.hpp"
#include "support/waiting.hpp"
#include "weft/fiber.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::eventually;
using test::local_job;
using test::post;

constexpr std::uint32_t engine_id = 3;

std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>((i * 131 + seed * 17 + (i >> 8)) & 0xff);
  return out;
}

// A rank with an engine of the kind, and the objects that its posts signal.
struct rank {
  explicit rank(runtime& of) : rt{of} {}

  [[nodiscard]] status recv(std::uint32_t peer, std::span<std::byte> into, std::uint64_t tag, bool allow_retry = true) {
    return post(dev, [&] {
      return dev.post_recv(peer, into, received, {.tag = tag, .engine = engine_id, .allow_retry = allow_retry});
    });
  }
  void send(std::uint32_t peer, std::span<const std::byte> bytes, const post_send_options& options) {
    posted += post(dev, [&] { return dev.post_send(peer, bytes, sent, options); }).is_posted();
  }
  void send(std::uint32_t peer, std::span<const std::byte> bytes, std::uint64_t tag) {
    send(peer, bytes, {.tag = tag, .engine = engine_id});
  }
  [[nodiscard]] completion_record next() {
    std::optional<completion_record> got;
    EXPECT_TRUE(eventually(dev, [&] { return (got = received.pop()).has_value(); }));
    return got ? std::move(*got) : completion_record{};
  }
  // Until all that was posted is through at both ends.
  void finish() {
    EXPECT_TRUE(eventually(dev, [&] { return sent.value() == posted; }));
    EXPECT_EQ(sent.failed(), 0U);
    rt.barrier();
  }

  runtime& rt;
  device& dev = rt.default_device();
  completion_queue received{rt};
  counter sent{rt};
  std::uint64_t posted = 0;
  matching_engine engine{rt, {.id = engine_id, .receiver_first = true}};
};

class receiver_first_size : public testing::TestWithParam<std::size_t> {};

TEST_P(receiver_first_size, meets_its_receive_whichever_comes_first) {
  const std::size_t bytes = GetParam();
  local_job{2}.run([&](runtime& rt) {
    rank me{rt};
    const std::uint32_t peer = 1 - rt.rank();
    const auto payload = pattern(bytes, rt.rank());
    std::vector<std::byte> early(bytes + 100'000, std::byte{0xee}), late(bytes + 1, std::byte{0xee});
    EXPECT_TRUE(me.recv(peer, early, 1).is_posted());  // with much more room than is needed
    rt.barrier();
    me.send(peer, payload, 1);
    me.send(peer, payload, 2);
    const auto one = me.next();
    rt.barrier();
    EXPECT_TRUE(me.recv(peer, std::span{late}.first(bytes), 2).is_posted());
    const auto two = me.next();
    const auto expected = pattern(bytes, peer);
    for (const auto* got : {&one, &two}) {
      EXPECT_EQ(got->operation(), operation::receive);
      EXPECT_EQ(got->error(), errc::none);
      EXPECT_EQ(got->source(), peer);
      EXPECT_EQ(got->tag(), got == &one ? 1U : 2U);
      EXPECT_EQ(got->message_bytes(), bytes);
      EXPECT_TRUE(std::ranges::equal(got->data(), expected));
    }
    EXPECT_EQ(early[bytes], std::byte{0xee});
    EXPECT_EQ(late[bytes], std::byte{0xee});
    me.finish();
    EXPECT_EQ(rt.counters().messages_refused, 0U);
  });
}

INSTANTIATE_TEST_SUITE_P(around_every_threshold, receiver_first_size,
                         testing::Values(0, 1, 8, 40, 41, 4096, 8192, 8193, 100'000, 1'500'000));

// Which protocol the sender chooses, the receiver can't know: its buffer may have any size.
TEST(receiver_first, keeps_the_order_of_one_tag_whatever_the_sizes) {
  local_job{2}.run([](runtime& rt) {
    constexpr std::size_t count = 60;
    constexpr std::array<std::size_t, 5> sizes{8, 20'000, 0, 5000, 100'000};
    rank me{rt};
    const std::uint32_t peer = 1 - rt.rank();
    std::vector<std::vector<std::byte>> in(count, std::vector<std::byte>(100'000)), out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(pattern(sizes[i % sizes.size()], i));
    for (std::size_t i = 0; i < count; ++i) {  // by turns either side is ahead
      if (i % 20 < 10) {
        EXPECT_TRUE(me.recv(peer, in[i], 7, i % 3 != 0).is_posted());
        me.send(peer, out[i], {.tag = 7, .engine = engine_id, .allow_done = i % 2 == 0, .allow_retry = i % 4 < 2});
      } else {
        me.send(peer, out[i], 7);
        EXPECT_TRUE(me.recv(peer, in[i], 7).is_posted());
      }
    }
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(me.next().error(), errc::none);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(std::equal(out[i].begin(), out[i].end(), in[i].begin())) << i;
    }
    me.finish();
  });
}

TEST(receiver_first, tells_many_tags_and_ranks_apart) {
  local_job{3}.run([](runtime& rt) {
    constexpr std::uint64_t count = 100;
    rank me{rt};
    std::vector<std::vector<std::byte>> in(3 * count);
    for (std::uint64_t tag = 0; tag < count; ++tag) {
      for (std::uint32_t peer = 0; peer < 3; ++peer) {  // itself included
        auto& into = in[peer * count + tag];
        into.resize(tag % 10 == 0 ? 30'000 : 16);
        EXPECT_TRUE(me.recv(peer, into, tag).is_posted());
      }
    }
    std::vector<std::vector<std::byte>> out;
    for (std::uint64_t tag = 0; tag < count; ++tag)
      out.push_back(pattern(tag % 10 == 0 ? 30'000 : 16, rt.rank() * count + tag));
    for (std::uint64_t tag = count; tag-- > 0;) {
      for (std::uint32_t peer = 0; peer < 3; ++peer) me.send(peer, out[tag], tag);
    }
    for (std::uint64_t i = 0; i < 3 * count; ++i) {
      const auto got = me.next();
      EXPECT_EQ(got.error(), errc::none);
      EXPECT_EQ(got.data().data(), in[got.source() * count + got.tag()].data());
    }
    for (std::uint64_t i = 0; i < 3 * count; ++i) EXPECT_EQ(in[i], pattern(in[i].size(), i)) << i;
    me.finish();
  });
}

TEST(receiver_first, too_long_for_the_buffer_is_an_error_that_writes_nothing) {
  local_job{2}.run([](runtime& rt) {
    rank me{rt};
    for (const std::size_t bytes : {64, 5000, 100'000}) {
      for (const auto level : {completion_level::local, completion_level::delivered}) {
        for (const bool is_early : {true, false}) {
          const auto payload = pattern(bytes, 1);
          std::array<std::byte, 16> buffer;
          buffer.fill(std::byte{0xee});
          const auto receive = [&] { EXPECT_TRUE(me.recv(1, std::span{buffer}.first(8), 1).is_posted()); };
          if (rt.rank() == 0 && is_early) receive();
          rt.barrier();
          if (rt.rank() == 1) me.send(0, payload, {.tag = 1, .engine = engine_id, .complete_at = level});
          rt.barrier();
          if (rt.rank() == 0) {
            if (!is_early) receive();
            const auto got = me.next();
            EXPECT_EQ(got.error(), errc::truncated);
            EXPECT_EQ(got.message_bytes(), bytes);
            EXPECT_EQ(got.bytes(), 0U);
            EXPECT_TRUE(std::ranges::all_of(buffer, [](std::byte b) { return b == std::byte{0xee}; }));
          }
          me.finish();  // at the sender it succeeded
        }
      }
    }
  });
}

TEST(receiver_first, delivered_means_that_the_receive_has_it) {
  local_job{2}.run([](runtime& rt) {
    rank me{rt};
    for (const std::size_t bytes : {0, 8, 5000, 100'000}) {
      const auto payload = pattern(bytes, 3);
      if (rt.rank() == 1) {
        me.send(0, payload, {.tag = 1, .engine = engine_id, .complete_at = completion_level::delivered});
        for (int i = 0; i < 200; ++i) me.dev.progress();
        EXPECT_EQ(me.sent.value() + 1, me.posted);  // no receive has taken it
        rt.barrier();
        me.dev.flush(0);
      } else {
        rt.barrier();
        std::vector<std::byte> buffer(bytes + 9);
        EXPECT_TRUE(me.recv(1, buffer, 1).is_posted());
        EXPECT_TRUE(std::ranges::equal(me.next().data(), payload));
      }
      me.finish();
    }
  });
}

TEST(receiver_first, lists_of_buffers_are_one_message) {
  local_job{2}.run([](runtime& rt) {
    rank me{rt};
    for (const std::size_t bytes : {3, 40, 5000, 300'000}) {
      for (const auto level : {completion_level::local, completion_level::delivered}) {
        for (int lists = 1; lists < 4; ++lists) {  // at the sender, the receiver, both
          auto out = pattern(bytes, 8), in = std::vector<std::byte>(bytes);
          const std::size_t a = bytes / 3;
          const std::array<const_buffer_ref, 3> from{const_buffer_ref{out.data(), a}, const_buffer_ref{},
                                                     const_buffer_ref{out.data() + a, bytes - a}};
          const std::array<buffer_ref, 2> into{buffer_ref{in.data(), bytes / 2},
                                               buffer_ref{in.data() + bytes / 2, bytes - bytes / 2}};
          const post_send_options options{.tag = 1, .engine = engine_id, .complete_at = level};
          if (rt.rank() == 1) {
            me.posted += post(me.dev, [&] {
                           return (lists & 1) != 0 ? me.dev.post_send(0, const_buffer_list{from}, me.sent, options)
                                                   : me.dev.post_send(0, out, me.sent, options);
                         }).is_posted();
          } else {
            const post_recv_options like{.tag = 1, .engine = engine_id};
            EXPECT_TRUE(post(me.dev, [&] {
                          return (lists & 2) != 0 ? me.dev.post_recv(1, buffer_list{into}, me.received, like)
                                                  : me.dev.post_recv(1, in, me.received, like);
                        }).is_posted());
            EXPECT_EQ(me.next().error(), errc::none);
            EXPECT_EQ(in, out);
          }
          me.finish();
        }
      }
    }
  });
}

// The receive ends in one way, which its completion names; a message that it leaves is there for the next one.
TEST(receiver_first, takes_a_receive_back_from_its_sender) {
  local_job{2}.run([](runtime& rt) {
    constexpr std::uint64_t count = 100;
    rank me{rt};
    std::vector<std::uint64_t> values(count), tickets;
    const auto bytes_of = [&](std::uint64_t i) { return std::as_writable_bytes(std::span{&values[i], 1}); };
    if (rt.rank() == 0) {
      for (std::uint64_t i = 0; i < count; ++i) tickets.push_back(me.recv(1, bytes_of(i), i).ticket());
    }
    rt.barrier();
    if (rt.rank() == 1) {
      for (std::uint64_t i = 0; i < count / 2; ++i) {
        values[i] = i + 1;
        me.send(0, bytes_of(i), i);
      }
      rt.barrier();
      for (std::uint64_t i = 0; i < count; ++i) {
        values[i] = i + 1;
        me.send(0, bytes_of(i), i + count);
      }
    } else {
      std::uint64_t got = 0;
      for (std::uint64_t i = count; i-- > 0;) {
        EXPECT_TRUE(eventually(me.dev, [&] { return me.dev.cancel(tickets[i]) == cancel_result::too_late; }));
      }
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto record = me.next();
        const bool is_cancelled = record.error() == errc::cancelled;
        EXPECT_TRUE(is_cancelled || record.error() == errc::none);
        EXPECT_EQ(record.message_bytes(), is_cancelled ? 0U : 8U);
        got += !is_cancelled;
        EXPECT_TRUE(is_cancelled || record.tag() < count / 2) << record.tag();
      }
      for (std::uint64_t i = 0; i < count; ++i) EXPECT_TRUE(values[i] == 0 || values[i] == i + 1);
      EXPECT_FALSE(me.received.pop().has_value());
      rt.barrier();
      for (std::uint64_t i = 0; i < count; ++i) EXPECT_TRUE(me.recv(1, bytes_of(i), i + count).is_posted());
      for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(me.next().error(), errc::none);
      // A message that met no receive goes to the next receive of its tag.
      for (std::uint64_t i = 0; i < count / 2; ++i) {
        values[i] = 0;
        tickets[i] = me.recv(1, bytes_of(i), i).ticket();
      }
      for (std::uint64_t left = count / 2 - got; left > 0; --left) EXPECT_EQ(me.next().error(), errc::none);
      for (std::uint64_t i = 0; i < count / 2; ++i) {
        EXPECT_TRUE(eventually(me.dev, [&] { return me.dev.cancel(tickets[i]) == cancel_result::too_late; }));
      }
      for (std::uint64_t left = got; left > 0; --left) EXPECT_EQ(me.next().error(), errc::cancelled);
    }
    me.finish();
  });
}

// The sender makes no progress meanwhile: later it finds one message for the receive, and one to take it back.
TEST(receiver_first, asks_its_sender_once_however_often_a_receive_is_cancelled) {
  test::flag has_asked;
  local_job{2}.run([&](runtime& rt) {
    rank me{rt};
    std::array<std::byte, 8> word{};
    rt.barrier();
    if (rt.rank() == 0) {
      const std::uint64_t ticket = me.recv(1, word, 1).ticket();
      for (int i = 0; i < 100; ++i) EXPECT_EQ(me.dev.cancel(ticket), cancel_result::busy);
      has_asked.raise();
      EXPECT_EQ(me.next().error(), errc::cancelled);
      EXPECT_EQ(me.dev.cancel(ticket), cancel_result::too_late);
    } else {
      const std::uint64_t before = me.dev.counters().arrivals.messages;
      EXPECT_TRUE(eventually([&] { return has_asked.is_raised(); }));
      while (me.dev.progress()) {
      }
      EXPECT_LE(me.dev.counters().arrivals.messages, before + 2);
    }
    me.finish();
  });
}

// The request may come before the engine is made, as its RTR may: it is kept, too, and need not be repeated.
TEST(receiver_first, takes_a_receive_back_from_an_engine_that_is_made_later) {
  const char* const transport = std::getenv("WEFT_TRANSPORT");
  const bool has_delays = transport != nullptr && std::string_view{transport}.find("sim:") != std::string_view::npos;
  test::flag has_asked;
  local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue received{rt};
    std::array<std::byte, 8> word{};
    if (rt.rank() == 0) {
      const matching_engine engine{rt, {.id = engine_id, .receiver_first = true}};
      const auto recv = [&](std::uint64_t tag) {
        return post(dev, [&] { return dev.post_recv(1, word, received, {.tag = tag, .engine = engine_id}); }).ticket();
      };
      const std::uint64_t first = recv(1);
      EXPECT_EQ(dev.cancel(first), cancel_result::busy);
      static_cast<void>(recv(2));  // the numbers go on
      has_asked.raise();
      rt.barrier();
      for (int i = 0; i < 2; ++i) {  // in either order
        std::optional<completion_record> got;
        ASSERT_TRUE(eventually(dev, [&] { return (got = received.pop()).has_value(); }));
        // A network that delays may bring the request after the engine's end.
        const bool is_late = has_delays && got->error() == errc::unknown_completion;
        EXPECT_EQ(got->error(), got->tag() == 1 && !is_late ? errc::cancelled : errc::unknown_completion);
      }
    } else {
      EXPECT_TRUE(eventually([&] { return has_asked.is_raised(); }));
      rt.barrier();  // the messages come, and are kept
      {
        const matching_engine engine{rt, {.id = engine_id, .receiver_first = true}};
        for (int i = 0; i < 100; ++i) dev.progress();
      }
    }
    rt.barrier();
  });
}

TEST(receiver_first, waits_for_an_engine_that_is_made_late_and_ends_where_it_has_gone) {
  local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue received{rt};
    counter sent{rt};
    std::array<std::byte, 8> word{};
    if (rt.rank() == 0) {
      const matching_engine engine{rt, {.id = engine_id, .receiver_first = true}};
      EXPECT_TRUE(engine.is_receiver_first());
      EXPECT_FALSE(engine.is_ordered());
      for (const std::uint64_t tag : {1, 2}) {
        static_cast<void>(
            post(dev, [&] { return dev.post_recv(1, word, received, {.tag = tag, .engine = engine_id}); }));
      }
      rt.barrier();
      std::array<errc, 2> errors{errc::truncated, errc::truncated};
      for (int i = 0; i < 2; ++i) {
        std::optional<completion_record> got;
        EXPECT_TRUE(eventually(dev, [&] { return (got = received.pop()).has_value(); }));
        errors[got->tag() - 1] = got->error();
      }
      EXPECT_EQ(errors[0], errc::none);
      EXPECT_EQ(errors[1], errc::unknown_completion);  // no send has met it
      static_cast<void>(post(dev, [&] { return dev.post_recv(1, word, received, {.tag = 3, .engine = engine_id}); }));
      EXPECT_TRUE(eventually(dev, [&] { return received.pop().has_value(); }));
    } else {
      rt.barrier();
      {
        const matching_engine engine{rt, {.id = engine_id, .receiver_first = true}};
        const bool waits =
            post(dev, [&] { return dev.post_send(0, word, sent, {.tag = 1, .engine = engine_id}); }).is_posted();
        EXPECT_TRUE(eventually(dev, [&] { return sent.value() == waits; }));
      }
    }
    rt.barrier();
  });
}

// Where only one side makes it, both get an error as far as that is possible.
TEST(receiver_first, is_what_both_sides_make) {
  local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine engine{rt, {.id = engine_id, .receiver_first = rt.rank() == 0}};
    const matching_engine ordered{rt, {.id = 4, .ordered = rt.rank() == 1, .receiver_first = rt.rank() == 0}};
    completion_queue ended{rt};
    std::vector<std::byte> large(100'000);
    for (const std::uint32_t id : {engine.id(), ordered.id()}) {
      if (rt.rank() == 0) {
        EXPECT_TRUE(post(dev, [&] { return dev.post_recv(1, large, ended, {.engine = id}); }).is_posted());
      } else {
        EXPECT_TRUE(post(dev, [&] { return dev.post_send(0, large, ended, {.engine = id}); }).is_posted());
      }
      std::optional<completion_record> got;
      EXPECT_TRUE(eventually(dev, [&] { return (got = ended.pop()).has_value(); }));
      EXPECT_EQ(got->error(), errc::unknown_completion);
    }
    rt.barrier();
  });
}

TEST(receiver_first, serves_fibers_that_wait) {
  local_job{2}.run([](runtime& rt) {
    constexpr std::uint64_t fiber_count = 16, rounds = 10;
    const matching_engine engine{rt, {.id = engine_id, .receiver_first = true}};
    device& dev = rt.default_device();
    blocking_device blocking{dev};
    std::array<device*, 1> served{&dev};
    const std::uint32_t peer = 1 - rt.rank();
    rt.barrier();
    {
      fiber_scheduler fibers{{.devices = served}};
      std::vector<fiber> all;
      for (std::uint64_t tag = 0; tag < fiber_count; ++tag) {
        all.push_back(fibers.spawn([&, tag] {
          for (std::uint64_t round = 0; round < rounds; ++round) {
            const auto out = pattern(tag % 2 == 0 ? 20'000 : 24, tag + round);
            std::vector<std::byte> in(30'000);
            if (rt.rank() == 0) blocking.send(peer, out, {.tag = tag, .engine = engine_id});
            const completion_record got = blocking.recv(peer, in, {.tag = tag, .engine = engine_id});
            EXPECT_TRUE(std::ranges::equal(got.data(), out));
            if (rt.rank() == 1) blocking.send(peer, out, {.tag = tag, .engine = engine_id});
          }
        }));
      }
      for (fiber& each : all) each.join();
    }
    rt.barrier();
  });
}

TEST(receiver_first, is_shared_by_threads) {
  local_job{2}.run([](runtime& rt) {
    constexpr std::uint64_t thread_count = 3, rounds = 40;
    const matching_engine engine{rt, {.id = engine_id, .receiver_first = true}};
    const std::uint32_t peer = 1 - rt.rank();
    const auto work = [&](std::uint64_t tag) {
      device dev{rt};
      counter ended{rt};
      std::uint64_t posted = 0;
      for (std::uint64_t round = 0; round < rounds; ++round) {
        const auto out = pattern(round % 4 == 0 ? 20'000 : 100, round + tag);
        std::vector<std::byte> in(20'000);
        posted +=
            post(dev, [&] { return dev.post_recv(peer, in, ended, {.tag = tag, .engine = engine_id}); }).is_posted();
        posted +=
            post(dev, [&] { return dev.post_send(peer, out, ended, {.tag = tag, .engine = engine_id}); }).is_posted();
        EXPECT_TRUE(eventually(dev, [&] { return ended.value() == posted; }));
        EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin()));
      }
    };
    std::vector<std::thread> threads;
    for (std::uint64_t tag = 0; tag < thread_count; ++tag) threads.emplace_back(work, tag);
    for (std::thread& each : threads) each.join();
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
