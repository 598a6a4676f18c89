// SPDX-License-Identifier: BSD-3-Clause
// Packets in the hands of the user: written, posted without a copy, kept, given back.
#include "weft/packet.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

std::byte byte_of(std::uint64_t tag, std::size_t i) { return static_cast<std::byte>(tag * 31 + i * 7); }

bool is_message(const completion_record& got, std::size_t bytes) {
  const auto data = got.data();
  if (data.size() != bytes) return false;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] != byte_of(got.tag(), i)) return false;
  }
  return true;
}

// A packet with a message; waits for one to be free.
packet written(runtime& rt, std::size_t bytes, std::uint64_t tag) {
  std::optional<packet> out;
  EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return (out = rt.try_take_packet()).has_value(); }));
  EXPECT_EQ(out->memory().size(), rt.attributes().packet_bytes);
  for (std::size_t i = 0; i < bytes; ++i) out->memory()[i] = byte_of(tag, i);
  return std::move(*out);
}

TEST(packet, is_written_and_posted_in_every_size_to_every_rank) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue inbox{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    const std::vector<std::size_t> sizes{0, 1, 8, 40, 41, 64, 1000, rt.attributes().packet_bytes};
    for (std::uint32_t peer = 0; peer < 2; ++peer) {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        packet message = written(rt, sizes[i], i);
        const status answer = test::post(dev, [&] { return dev.post_am(peer, {1}, message, sizes[i], {.tag = i}); });
        EXPECT_TRUE(answer.is_done());
        EXPECT_TRUE(message.is_posted());
        EXPECT_TRUE(message.memory().empty());
      }
    }
    std::vector<int> came(sizes.size());
    for (std::size_t n = 0; n < 2 * sizes.size(); ++n) {
      const auto got = dev.wait(inbox, {.timeout = std::chrono::minutes{1}});
      ASSERT_TRUE(got.has_value());
      EXPECT_TRUE(is_message(*got, sizes[got->tag()])) << got->tag();
      ++came[got->tag()];
    }
    EXPECT_TRUE(std::ranges::all_of(came, [](int times) { return times == 2; }));
    rt.barrier();
  });
}

// Each is given back once, however it goes: all of them can be taken again and again, but for the few that another
// thread keeps at hand.
TEST(packet, comes_back_when_it_goes_unposted) {
  test::local_job{1}.run([](runtime& rt) {
    const auto take_all = [&] {
      std::vector<packet> all;
      while (auto one = rt.try_take_packet()) all.push_back(std::move(*one));
      EXPECT_FALSE(rt.try_take_packet().has_value());
      return all;
    };
    std::vector<packet> all = take_all();
    EXPECT_EQ(all.size(), rt.attributes().packet_count);
    for (int round = 0; round < 3; ++round) {
      // By another thread than the one that took them.
      std::thread{[&] { all.erase(all.begin() + 2, all.end()); }}.join();
      all.clear();
      all = take_all();
      EXPECT_GE(all.size(), rt.attributes().packet_count / 16 * 15);
      std::thread{[&] {  // has what was at the hand of the one before it
        std::vector<packet> rest = take_all();
        std::ranges::move(rest, std::back_inserter(all));
      }}
          .join();
      EXPECT_EQ(all.size(), rt.attributes().packet_count);
    }
  });
}

TEST(packet, stays_the_callers_after_retry) {
  test::flag was_refused;
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue inbox{rt, {.capacity = 2}};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    const std::uint64_t messages = test::messages_wake_sleepers() ? 3000 : 60;
    if (rt.rank() == 0) {
      for (std::uint64_t tag = 0; tag < messages; ++tag) {
        packet message = written(rt, 100, tag);
        for (;;) {
          const status answer = dev.post_am(1, {1}, message, 100, {.tag = tag});
          if (answer.is_done()) break;
          was_refused.raise();
          EXPECT_EQ(message.memory()[99], byte_of(tag, 99));
          if (!dev.progress()) std::this_thread::yield();
        }
      }
      EXPECT_TRUE(was_refused.is_raised() || !test::messages_wake_sleepers());
      was_refused.raise();  // so few may find room
    } else {
      // Begins when the way is full.
      EXPECT_TRUE(test::eventually(dev, [&] { return was_refused.is_raised(); }));
      // Kept for a while, given back by another thread.
      std::vector<completion_record> kept;
      for (std::uint64_t n = 0; n < messages; ++n) {
        auto got = dev.wait(inbox, {.timeout = std::chrono::minutes{1}});
        ASSERT_TRUE(got.has_value());
        EXPECT_TRUE(is_message(*got, 100));
        kept.push_back(std::move(*got));
        if (kept.size() == 20) std::thread{[&] { kept.clear(); }}.join();
      }
    }
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
