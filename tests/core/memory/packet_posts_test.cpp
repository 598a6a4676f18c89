// SPDX-License-Identifier: BSD-3-Clause
// Sends and puts of packets that the user has filled: in every engine and size, to each kind of region; and each packet
// comes back once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

std::byte post_byte(std::uint64_t tag, std::size_t i) { return static_cast<std::byte>(tag * 29 + i * 5); }

packet filled_packet(runtime& rt, std::size_t bytes, std::uint64_t tag) {
  std::optional<packet> out;
  EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return (out = rt.try_take_packet()).has_value(); }));
  for (std::size_t i = 0; i < bytes; ++i) out->memory()[i] = post_byte(tag, i);
  return std::move(*out);
}

bool is_posted_message(std::span<const std::byte> data, std::uint64_t tag) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != post_byte(tag, i)) return false;
  }
  return true;
}

std::vector<std::size_t> sizes_of(const runtime& rt) {
  const std::size_t packet_bytes = rt.attributes().packet_bytes;
  return {0, 1, 8, 40, 41, 1000, packet_bytes - 24, packet_bytes};
}

// All packets are in the pool again, but for a few that threads keep at hand.
void expect_all_back(runtime& rt) {
  std::vector<packet> all;
  EXPECT_TRUE(test::eventually(rt.default_device(), [&] {
    while (auto one = rt.try_take_packet()) all.push_back(std::move(*one));
    return all.size() >= rt.attributes().packet_count / 8 * 7;
  })) << all.size();
}

void send_and_receive(runtime& rt, engine_ref engine) {
  device& dev = rt.default_device();
  completion_queue done{rt};
  for (const bool first : {true, false}) {
    for (std::uint32_t peer = 0; peer < rt.size(); ++peer) {
      for (const std::size_t bytes : sizes_of(rt)) {
        std::vector<std::byte> into(bytes + 8, std::byte{0xee});
        const auto receive = [&] {
          const auto post = [&] {
            return dev.post_recv(peer, std::span{into}.first(bytes), done, {.tag = bytes, .engine = engine});
          };
          EXPECT_TRUE(test::post(dev, post).is_posted());
        };
        if (first) receive();
        packet message = filled_packet(rt, bytes, bytes);
        const auto send = [&] { return dev.post_send(peer, message, bytes, {.tag = bytes, .engine = engine}); };
        EXPECT_TRUE(test::post(dev, send).is_done());
        EXPECT_TRUE(message.is_posted());
        if (!first) receive();
        const auto got = dev.wait(done, {.timeout = std::chrono::minutes{1}});
        ASSERT_TRUE(got.has_value());
        EXPECT_EQ(got->error(), errc::none);
        EXPECT_EQ(got->bytes(), bytes);
        EXPECT_TRUE(is_posted_message(std::span{into}.first(bytes), bytes)) << bytes;
        EXPECT_EQ(std::ranges::count(std::span{into}.last(8), std::byte{0xee}), 8);
      }
    }
  }
}

TEST(packet_posts, are_received_in_every_engine) {
  test::local_job{2}.run([](runtime& rt) {
    matching_engine own{rt, {.id = 1}};
    matching_engine ordered{rt, {.id = 2, .ordered = true}};
    matching_engine receiver_first{rt, {.id = 3, .receiver_first = true}};
    rt.barrier();
    for (const engine_ref engine : {engine_ref{}, engine_ref{own}, engine_ref{ordered}, engine_ref{receiver_first}})
      send_and_receive(rt, engine);
    rt.default_device().flush();
    rt.barrier();
    expect_all_back(rt);
    rt.barrier();
  });
}

void put_and_look(runtime& rt, memory_region& mine, std::uint32_t first_id) {
  device& dev = rt.default_device();
  completion_queue signals{rt};
  const auto registered = rt.register_completion(signals, {.id = first_id});
  std::vector<remote_region> handles(rt.size());
  handles[rt.rank()] = mine.handle();
  counter told{rt};
  // Each rank puts its handle at the other one's by an active message.
  completion_queue inbox{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = first_id + 1});
  rt.barrier();
  const std::uint32_t peer = 1 - rt.rank();
  const auto tell = [&] { return dev.post_am(peer, {first_id + 1}, std::span{&handles[rt.rank()], 1}, told); };
  static_cast<void>(test::post(dev, tell));
  const auto handle = dev.wait(inbox, {.timeout = std::chrono::minutes{1}});
  ASSERT_TRUE(handle.has_value());
  std::memcpy(&handles[peer], handle->data().data(), sizeof(remote_region));
  for (const std::size_t bytes : sizes_of(rt)) {
    packet message = filled_packet(rt, bytes, bytes + rt.rank());
    const auto put = [&] {
      return dev.post_put(peer, message, bytes, {handles[peer], 8},
                          {.signal = remote_completion{first_id}, .tag = bytes});
    };
    EXPECT_TRUE(test::post(dev, put).is_done());
    EXPECT_TRUE(message.is_posted());
    const auto signal = dev.wait(signals, {.timeout = std::chrono::minutes{1}});
    ASSERT_TRUE(signal.has_value());
    EXPECT_EQ(signal->tag(), bytes);
    EXPECT_TRUE(is_posted_message(mine.memory().subspan(8, bytes), bytes + peer));
    rt.barrier();
  }
  dev.flush();
  rt.barrier();
}

TEST(packet_posts, are_put_into_regions_of_both_kinds) {
  test::local_job{2}.run([](runtime& rt) {
    const std::size_t bytes = rt.attributes().packet_bytes + 16;
    {
      memory_region allocated{rt, bytes};
      put_and_look(rt, allocated, 1);
    }
    rt.barrier();
    {
      std::vector<std::byte> own(bytes);
      memory_region opened{rt, std::span{own}};
      put_and_look(rt, opened, 3);
    }
    expect_all_back(rt);
    rt.barrier();
  });
}

TEST(packet_posts, are_refused_as_other_posts_are) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    packet one = filled_packet(rt, 8, 1);
    const std::size_t too_many = rt.attributes().packet_bytes + 1;
    memory_region region{rt, 64};
    EXPECT_THROW(static_cast<void>(dev.post_send(0, one, too_many)), error);
    EXPECT_THROW(static_cast<void>(dev.post_send(1, one, 8)), error);
    EXPECT_THROW(static_cast<void>(dev.post_send(0, one, 8, {.engine = {77}})), error);
    EXPECT_THROW(static_cast<void>(dev.post_put(0, one, too_many, region.at(0))), error);
    EXPECT_THROW(static_cast<void>(dev.post_put(1, one, 8, region.at(0))), error);
    EXPECT_THROW(static_cast<void>(dev.post_put(0, one, 8, region.at(60))), error);
    EXPECT_FALSE(one.is_posted());
    EXPECT_TRUE(test::post(dev, [&] { return dev.post_put(0, one, 8, region.at(0)); }).is_done());
    EXPECT_THROW(static_cast<void>(dev.post_put(0, one, 8, region.at(0))), error);
    EXPECT_THROW(static_cast<void>(dev.post_send(0, one, 8)), error);
  });
}

}  // namespace
}  // namespace weft
