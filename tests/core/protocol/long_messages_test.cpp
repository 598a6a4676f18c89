// SPDX-License-Identifier: BSD-3-Clause
// Long messages by each of the ways that a setting names, and by the ways that the receiver chooses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

std::byte content(std::size_t at, unsigned round, std::uint32_t rank) {
  return static_cast<std::byte>(at * 7 + at / 4096 + round * 31 + rank);
}

// Both ranks send and receive `count` messages of `bytes` bytes at a time, `rounds` times, and look at every byte.
void exchange(runtime& rt, std::size_t bytes, unsigned count, unsigned rounds) {
  device& dev = rt.default_device();
  const std::uint32_t peer = 1 - rt.rank();
  counter sent{rt}, received{rt};
  std::vector<std::vector<std::byte>> out(count, std::vector<std::byte>(bytes)), in = out;
  std::uint64_t posted = 0, expected = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    for (unsigned i = 0; i < count; ++i) {
      for (std::size_t at = 0; at < bytes; ++at) out[i][at] = content(at, round + i, rt.rank());
      std::ranges::fill(in[i], std::byte{});
      static_cast<void>(test::post(dev, [&] { return dev.post_recv(peer, in[i], received, {.tag = i}); }));
      posted += test::post(dev, [&] { return dev.post_send(peer, out[i], sent, {.tag = i}); }).is_posted();
    }
    expected += count;
    ASSERT_TRUE(test::eventually(dev, [&] { return received.value() == expected && sent.value() == posted; }));
    for (unsigned i = 0; i < count; ++i) {
      for (std::size_t at = 0; at < bytes; ++at) ASSERT_EQ(in[i][at], content(at, round + i, peer)) << at;
    }
  }
}

runtime_options with(long_messages how, const char* transport, std::size_t piece_bytes) {
  runtime_options out{.transport = transport, .long_messages = how};
  out.copy_piece_bytes = piece_bytes;
  if (out.transport.starts_with("sim")) out.sim_seed = 5;
  return out;
}

TEST(long_messages, arrive_whole_by_each_way) {
  for (const long_messages how :
       {long_messages::automatic, long_messages::packets, long_messages::one_side, long_messages::both}) {
    for (const char* transport : {"", "sim:self,sim:shm"}) {
      for (const std::size_t piece_bytes : {0U, 4096U}) {
        test::local_job{2, with(how, transport, piece_bytes)}.run([&](runtime& rt) {
          for (const std::size_t bytes : {8193U, 20'000U, 65'536U, 100'001U, 300'000U}) exchange(rt, bytes, 3, 2);
          exchange(rt, (1U << 20) + 3, 1, 1);
          rt.barrier();
        });
      }
    }
  }
}

TEST(long_messages, go_by_the_way_that_is_set) {
  constexpr unsigned messages = 12;
  for (const long_messages how : {long_messages::packets, long_messages::one_side, long_messages::both}) {
    // A simulated network denies some copies.
    test::local_job{2, {.transport = "self,shm", .long_messages = how}}.run([&](runtime& rt) {
      exchange(rt, 200'000, 4, messages / 4);
      rt.barrier();
      const path_counters by = rt.default_device().counters().message_paths;
      EXPECT_EQ(by.many_packets.operations, how == long_messages::packets ? messages : 0U);
      const std::uint64_t copied = by.copied.operations + by.copied_by_both.operations;
      EXPECT_EQ(copied, how == long_messages::packets ? 0U : messages);
      if (how == long_messages::one_side) {
        EXPECT_EQ(by.copied_by_both.operations, 0U);
      }
      rt.barrier();
    });
  }
}

TEST(long_messages, go_by_a_way_that_is_found_and_named) {
  test::local_job{2}.run([](runtime& rt) {
    const std::uint32_t peer = 1 - rt.rank();
    if (rt.explain(peer, 20'000).find("no direct copies") != std::string::npos) GTEST_SKIP() << "no direct copies here";
    EXPECT_THAT(rt.explain(peer, 20'000), HasSubstr("finds out by the first messages of 16 KiB to 32 KiB"));
    exchange(rt, 20'000, 1, 500);
    const std::string text = rt.explain(peer, 20'000);
    EXPECT_THAT(text, HasSubstr("as the last ones have shown (WEFT_LONG_MESSAGES=auto)"));
    EXPECT_THAT(text, HasSubstr(" GB/s in packets"));
    EXPECT_THAT(text, HasSubstr(" GB/s copied by the receiver"));
    EXPECT_THAT(rt.explain(peer, 10'000), HasSubstr("finds out by the first messages of 8 KiB to 16 KiB"));
    EXPECT_THAT(rt.explain(peer, 40'000), HasSubstr("copied by both: so are messages of more than 32 KiB"));
    rt.barrier();
  });
}

// Several devices of a rank receive from one peer at a time.
TEST(long_messages, of_several_devices_are_chosen_together) {
  constexpr unsigned threads = 3;
  test::local_job{2}.run([](runtime& rt) {
    const std::uint32_t peer = 1 - rt.rank();
    rt.barrier();
    std::vector<std::jthread> running;
    for (unsigned self = 0; self < threads; ++self) {
      running.emplace_back([&rt, peer, self] {
        device dev{rt};
        counter sent{rt}, received{rt};
        std::vector<std::byte> in(30'000);
        const std::vector<std::byte> out(in.size(), std::byte{static_cast<unsigned char>(self + 1)});
        std::uint64_t posted = 0;
        for (std::uint64_t round = 1; round <= 150; ++round) {
          static_cast<void>(test::post(dev, [&] { return dev.post_recv(peer, in, received, {.tag = self}); }));
          posted += test::post(dev, [&] { return dev.post_send(peer, out, sent, {.tag = self}); }).is_posted();
          ASSERT_TRUE(test::eventually(dev, [&] {
            rt.default_device().progress();
            return received.value() == round && sent.value() == posted;
          }));
          ASSERT_EQ(in, out);
        }
        // The peer's messages may still need this device.
        rt.default_device().progress();
      });
    }
    running.clear();
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
