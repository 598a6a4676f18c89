// SPDX-License-Identifier: BSD-3-Clause
// Descriptions of messages without a receive: payloads are copied out of their packets where too many wait.
// stages: release asan
#include "core/matching/unexpected_sends.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace weft::core {
namespace {

// Memory of a transport, which counts how often it comes back.
struct lent_bytes final : detail::payload_owner {
  void release(void* data, std::size_t /*bytes*/) noexcept override { back += data == bytes.data(); }
  alignas(8) std::array<std::byte, 104> bytes{};
  unsigned back = 0;
};

constexpr std::uint32_t message_bytes = 100;
constexpr std::size_t copy_bytes = copied_payloads::bytes_of_copy(message_bytes);

// Of two ranks, each with a share of four packets.
struct messages {
  explicit messages(std::uint64_t copied_bytes_max, std::uint64_t state_bytes_max = std::uint64_t{1} << 20)
      : state{slab_pool<unexpected_message>::bytes_at_first(bounds) + state_bytes_max},
        sends{bounds, state, {.packets_max = 8, .copied_bytes_max = copied_bytes_max, .packet_bytes = 128}, 2} {
    for (std::size_t i = 0; i < lent.bytes.size(); ++i) lent.bytes[i] = static_cast<std::byte>(i);
  }
  unexpected_message* keep(std::uint32_t source) {
    return sends.try_keep({source, {}, lent.bytes.data(), message_bytes, &lent}, engine);
  }
  std::vector<unexpected_message*> keep(std::uint32_t source, std::size_t count) {
    std::vector<unexpected_message*> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(keep(source));
    return out;
  }
  void put(std::vector<unexpected_message*>& kept) {
    for (unexpected_message* each : kept) sends.put_unused(*each);
    kept.clear();
  }

  static constexpr pool_bounds bounds{256, 256};
  lent_bytes lent;
  engine_state engine{1, {}, 2};
  state_budget state;
  unexpected_sends sends;
};

// Eight packets may be here before further ones are copied, though the sender is asked at the fifth.
TEST(unexpected_sends, without_bytes_for_copies_a_rank_is_asked_at_its_share_and_copied_at_twice_the_share) {
  messages all{0};
  std::vector<unexpected_message*> kept = all.keep(1, 4);
  EXPECT_EQ(all.sends.budget().next_notice(1), 0U);
  for (int i = 4; i < 20; ++i) {
    kept.push_back(all.keep(1));
    EXPECT_EQ(all.sends.budget().next_notice(1), 1U);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    ASSERT_NE(kept[i], nullptr);
    EXPECT_EQ(all.sends.is_copied(*kept[i]), i >= 8) << i;
    EXPECT_EQ(kept[i]->arrival.payload == all.lent.bytes.data(), i < 8) << i;
    for (std::size_t at = 0; at < message_bytes; ++at)
      ASSERT_EQ(kept[i]->arrival.payload[at], static_cast<std::byte>(at));
  }
  unexpected_message* const of_another = all.keep(0);
  EXPECT_FALSE(all.sends.is_copied(*of_another));
  EXPECT_EQ(all.lent.back, 0U);  // the caller gives it back once the description is in use
  const std::uint64_t with_copies = all.state.bytes();
  all.put(kept);
  EXPECT_EQ(all.state.bytes(), with_copies - 12 * copy_bytes);
  unexpected_message* const next = all.keep(1);
  EXPECT_FALSE(all.sends.is_copied(*next));
  all.sends.put_unused(*next);
  all.sends.put_unused(*of_another);
  EXPECT_TRUE(all.sends.budget().is_consistent());
}

TEST(unexpected_sends, a_rank_is_asked_only_when_its_part_of_the_bytes_is_used_up) {
  messages all{2 * 10 * copy_bytes};
  std::vector<unexpected_message*> kept = all.keep(1, 18);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(all.sends.is_copied(*kept[i]), i >= 4 && i < 14) << i;
  }
  kept.push_back(all.keep(1));
  EXPECT_TRUE(all.sends.is_copied(*kept.back()));  // eight packets wait: it was under way
  kept.push_back(all.keep(0));
  EXPECT_FALSE(all.sends.is_copied(*kept.back()));  // another rank has a part of its own
  EXPECT_EQ(all.sends.budget().next_notice(0), 0U);
  all.put(kept);
}

TEST(unexpected_sends, copies_return_the_bytes_of_their_rank_and_end_the_notice) {
  messages all{2 * 10 * copy_bytes};
  std::vector<unexpected_message*> packets = all.keep(1, 4);
  std::vector<unexpected_message*> first = all.keep(1, 5);
  std::vector<unexpected_message*> second = all.keep(1, 5);
  EXPECT_EQ(all.sends.budget().next_notice(1), 0U);
  std::vector<unexpected_message*> beyond = all.keep(1, 1);
  ASSERT_EQ(all.sends.budget().next_notice(1), 1U);
  all.sends.budget().note_sent(1, 1);
  EXPECT_EQ(all.sends.budget().next_notice(1), 0U);  // once
  all.sends.put_unused(*first.back());
  first.pop_back();
  EXPECT_EQ(all.sends.budget().next_notice(1), 0U);  // until half is free
  all.put(first);
  ASSERT_EQ(all.sends.budget().next_notice(1), 2U);  // though packets wait
  all.sends.budget().note_sent(1, 2);
  std::vector<unexpected_message*> later = all.keep(1, 5);
  for (const unexpected_message* each : later) EXPECT_TRUE(all.sends.is_copied(*each));
  EXPECT_EQ(all.sends.budget().next_notice(1), 3U);
  for (auto* each : {&packets, &second, &beyond, &later}) all.put(*each);
  EXPECT_TRUE(all.sends.budget().is_consistent());
}

// Half of so few bytes has room for no packet: then a free half would end a notice that the next message renews.
TEST(unexpected_sends, few_bytes_end_no_notice) {
  messages all{2 * copy_bytes};
  std::vector<unexpected_message*> kept = all.keep(1, 6);
  EXPECT_TRUE(all.sends.is_copied(*kept[4]));
  EXPECT_FALSE(all.sends.is_copied(*kept[5]));
  ASSERT_EQ(all.sends.budget().next_notice(1), 1U);
  all.sends.budget().note_sent(1, 1);
  all.sends.put_unused(*kept[4]);
  EXPECT_EQ(all.sends.budget().next_notice(1), 0U);
  for (const std::size_t each : {0, 1, 2}) all.sends.put_unused(*kept[each]);
  EXPECT_EQ(all.sends.budget().next_notice(1), 2U);  // two packets wait, half of the share
}

TEST(unexpected_sends, keeps_the_packet_where_there_is_no_room_for_a_copy) {
  for (const std::uint64_t copied_bytes_max : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
    messages all{copied_bytes_max, copy_bytes + copy_bytes / 2};
    const std::size_t first_copy = copied_bytes_max == 0 ? 8 : 4;
    std::vector<unexpected_message*> kept = all.keep(1, 11);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      EXPECT_EQ(all.sends.is_copied(*kept[i]), i == first_copy) << i;
      EXPECT_EQ(kept[i]->arrival.owner == &all.lent, i != first_copy) << i;
    }
    all.put(kept);
    EXPECT_TRUE(all.sends.budget().is_consistent());
  }
}

}  // namespace
}  // namespace weft::core
