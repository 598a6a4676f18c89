// SPDX-License-Identifier: BSD-3-Clause
// A look at a message that stays: source, tag and size, by receives of every kind of engine and every policy.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "core/runtime/runtime_state.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::eventually;
using test::post;

std::optional<message_envelope> peek_until_found(device& dev, std::uint32_t peer, const probe_options& options) {
  std::optional<message_envelope> found;
  EXPECT_TRUE(eventually(dev, [&] { return (found = dev.peek(peer, options)).has_value(); }));
  return found;
}

// Receives what was found, as a program does that learns the size from a peek.
void receive(device& dev, std::uint32_t peer, const message_envelope& found, const probe_options& options) {
  completion_queue received{dev.runtime()};
  std::vector<std::byte> buffer(static_cast<std::size_t>(found.bytes));
  static_cast<void>(post(dev, [&] {
    return dev.post_recv(
        peer, buffer, received,
        {.tag = options.tag, .engine = options.engine, .policy = options.policy, .any_tag = options.any_tag});
  }));
  std::optional<completion_record> got;
  EXPECT_TRUE(eventually(dev, [&] { return (got = received.pop()).has_value(); }));
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->error(), errc::none);
  EXPECT_EQ(got->source(), found.source);
  EXPECT_EQ(got->tag(), found.tag);
  EXPECT_EQ(got->bytes(), found.bytes);
}

struct look {
  const char* name;
  std::uint32_t engine;  // an index
  match_policy policy = match_policy::rank_tag;
  bool any_rank_and_tag = false;
};

constexpr std::array<look, 8> looks{{{"default engine", 0},
                                     {"default engine, rank_only", 0, match_policy::rank_only},
                                     {"default engine, tag_only", 0, match_policy::tag_only},
                                     {"default engine, none", 0, match_policy::none},
                                     {"unordered engine", 1},
                                     {"engine with a key", 2},
                                     {"ordered engine", 3},
                                     {"ordered engine, all left open", 3, match_policy::rank_tag, true}}};

TEST(peek, finds_a_message_in_every_kind_of_engine_and_leaves_it) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine unordered{rt, {.id = 1}};
    const matching_engine keyed{
        rt, {.id = 2, .make_key = [](std::uint32_t, std::uint64_t tag) noexcept { return tag % 2; }}};
    const matching_engine ordered{rt, {.id = 3, .ordered = true}};
    const std::array<std::uint32_t, 4> engines{default_matching_engine, unordered.id(), keyed.id(), ordered.id()};
    counter sent{rt};
    for (const look& how : looks) {
      SCOPED_TRACE(how.name);
      for (const std::size_t bytes : {0, 8, 3000, 200'000}) {
        const probe_options options{
            .tag = 5, .engine = engines[how.engine], .policy = how.policy, .any_tag = how.any_rank_and_tag};
        const std::uint32_t peer = how.any_rank_and_tag ? any_rank : 1;
        if (rt.rank() == 1) {
          const std::vector<std::byte> payload(bytes);
          static_cast<void>(post(dev, [&] {
            return dev.post_send(0, payload, sent, {.tag = 5, .engine = options.engine, .policy = how.policy});
          }));
          EXPECT_TRUE(eventually(dev, [&] { return sent.outstanding() == 0; }));
        } else {
          EXPECT_FALSE(dev.peek(0, {.tag = 4, .engine = options.engine}).has_value()) << "a message from nowhere";
          const std::optional<message_envelope> found = peek_until_found(dev, peer, options);
          ASSERT_TRUE(found.has_value());
          EXPECT_EQ(found->source, 1U);
          EXPECT_EQ(found->tag, 5U);
          EXPECT_EQ(found->bytes, bytes);
          EXPECT_EQ(peek_until_found(dev, peer, options)->bytes, bytes) << "it was taken";
          receive(dev, peer, *found, options);
          EXPECT_FALSE(dev.peek(peer, options).has_value()) << "it is received, and still there";
        }
        rt.barrier();
      }
    }
  });
}

TEST(peek, finds_the_oldest_message_of_an_ordered_engine) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine ordered{rt, {.id = 3, .ordered = true}};
    constexpr std::uint64_t count = 20;
    const std::vector<std::byte> payload(count);
    if (rt.rank() == 1) {
      counter sent{rt};
      for (std::uint64_t i = 0; i < count; ++i) {
        static_cast<void>(post(
            dev, [&] { return dev.post_send(0, std::span{payload}.first(i), sent, {.tag = i % 3, .engine = 3}); }));
      }
      EXPECT_TRUE(eventually(dev, [&] { return sent.outstanding() == 0; }));
    } else {
      for (std::uint64_t i = 0; i < count; ++i) {
        const probe_options any{.engine = 3, .any_tag = true};
        const std::optional<message_envelope> found = peek_until_found(dev, any_rank, any);
        ASSERT_TRUE(found.has_value());
        EXPECT_EQ(found->bytes, i);
        EXPECT_EQ(found->tag, i % 3);
        receive(dev, any_rank, *found, any);
      }
    }
    rt.barrier();
  });
}

TEST(peek, does_not_find_a_message_for_which_a_receive_waits) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter sent{rt}, received{rt};
    std::uint64_t word = 1, got = 0;
    static_cast<void>(post(dev, [&] { return dev.post_recv(0, {&got, sizeof got}, received, {.tag = 1}); }));
    EXPECT_FALSE(dev.peek(0, {.tag = 1}).has_value()) << "a receive is no message";
    static_cast<void>(post(dev, [&] { return dev.post_send(0, {&word, sizeof word}, sent, {.tag = 1}); }));
    EXPECT_TRUE(eventually(dev, [&] { return received.value() == 1; }));
    EXPECT_FALSE(dev.peek(0, {.tag = 1}).has_value());
  });
}

// A bucket that is visited is locked.
TEST(peek, says_where_another_thread_keeps_it_from_looking) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter sent{rt};
    const std::uint64_t word = 1;
    bool is_busy = true;
    const probe_options options{.tag = 1, .is_busy = &is_busy};
    EXPECT_FALSE(dev.peek(0, options).has_value());
    EXPECT_FALSE(is_busy);
    static_cast<void>(post(dev, [&] { return dev.post_send(0, {&word, sizeof word}, sent, {.tag = 1}); }));
    EXPECT_TRUE(eventually(dev, [&] { return dev.peek(0, options).has_value(); }));
    EXPECT_FALSE(is_busy);
    bool is_visited = false;
    test::local_job::state_of(rt).matching().table().for_each([&](const core::match_node&) {
      is_visited = true;
      EXPECT_FALSE(dev.peek(0, options).has_value());
      EXPECT_TRUE(is_busy);
      is_busy = false;
      EXPECT_FALSE(dev.probe(0, options).has_value());
      EXPECT_TRUE(is_busy);
    });
    EXPECT_TRUE(is_visited);
    EXPECT_TRUE(dev.probe(0, options).has_value());
    EXPECT_FALSE(is_busy);
  });
}

// A message that is described may be received, and its description used for another one, while a thread peeks.
TEST(peek, describes_one_message_while_other_threads_receive) {
  constexpr std::uint64_t count = test::under_sanitizer ? 500 : 5000;
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine ordered{rt, {.id = 3, .ordered = true}};
    for (const std::uint32_t engine : {default_matching_engine, ordered.id()}) {
      test::flag over;
      std::thread peeks{[&] {
        const std::uint32_t peer = engine == default_matching_engine ? 0 : any_rank;
        const probe_options options{
            .engine = engine,
            .policy = engine == default_matching_engine ? match_policy::rank_only : match_policy::rank_tag,
            .any_tag = engine != default_matching_engine};
        while (!over.is_raised()) {
          const std::optional<message_envelope> found = dev.peek(peer, options);
          if (!found) continue;
          EXPECT_EQ(found->source, 0U);
          EXPECT_EQ(found->bytes, found->tag % 90) << "size and tag are of two messages";
        }
      }};
      std::array<std::byte, 90> payload{};
      counter sent{rt}, received{rt};
      const match_policy policy = engine == default_matching_engine ? match_policy::rank_only : match_policy::rank_tag;
      for (std::uint64_t i = 0; i < count; ++i) {
        static_cast<void>(post(dev, [&] {
          return dev.post_send(0, std::span{payload}.first(i % 90), sent,
                               {.tag = i, .engine = engine, .policy = policy});
        }));
        dev.progress();
        static_cast<void>(post(dev, [&] {
          return dev.post_recv(0, std::span{payload}, received, {.tag = i, .engine = engine, .policy = policy});
        }));
      }
      EXPECT_TRUE(eventually(dev, [&] { return received.value() == count; }));
      over.raise();
      peeks.join();
      EXPECT_TRUE(eventually(dev, [&] { return sent.outstanding() == 0; }));
    }
  });
}

}  // namespace
}  // namespace weft
