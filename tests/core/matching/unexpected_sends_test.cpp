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

struct messages {
  explicit messages(std::uint64_t copied_max = std::uint64_t{1} << 20)
      : state{slab_pool<unexpected_message>::bytes_at_first(bounds) + copied_max}, sends{bounds, state, 8, 2} {
    for (std::size_t i = 0; i < lent.bytes.size(); ++i) lent.bytes[i] = static_cast<std::byte>(i);
  }
  unexpected_message* keep(std::uint32_t source) {
    return sends.try_keep({source, {}, lent.bytes.data(), 100, &lent}, engine);
  }

  static constexpr pool_bounds bounds{256, 256};
  lent_bytes lent;
  engine_state engine{1, {}, 2};
  state_budget state;
  unexpected_sends sends;
};

// Four packets are a rank's share, and eight may be here before further ones are copied.
TEST(unexpected_sends, copies_payloads_of_a_rank_with_too_many_packets) {
  messages all;
  std::vector<unexpected_message*> kept;
  for (int i = 0; i < 20; ++i) kept.push_back(all.keep(1));
  for (std::size_t i = 0; i < kept.size(); ++i) {
    ASSERT_NE(kept[i], nullptr);
    EXPECT_EQ(all.sends.is_copied(*kept[i]), i >= 8) << i;
    EXPECT_EQ(kept[i]->arrival.payload == all.lent.bytes.data(), i < 8) << i;
    for (std::size_t at = 0; at < 100; ++at) ASSERT_EQ(kept[i]->arrival.payload[at], static_cast<std::byte>(at));
  }
  EXPECT_FALSE(all.sends.is_copied(*all.keep(0)));  // another rank has few
  EXPECT_EQ(all.lent.back, 0U);                     // the caller gives it back once the description is in use
  const std::uint64_t with_copies = all.state.bytes();
  for (unexpected_message* each : kept) all.sends.put_unused(*each);
  EXPECT_LT(all.state.bytes(), with_copies);
  EXPECT_FALSE(all.sends.is_copied(*all.keep(1)));
}

TEST(unexpected_sends, keeps_the_packet_where_there_is_no_room_for_a_copy) {
  messages all{150};
  std::vector<unexpected_message*> kept;
  for (int i = 0; i < 11; ++i) kept.push_back(all.keep(1));
  EXPECT_TRUE(all.sends.is_copied(*kept[8]));
  EXPECT_FALSE(all.sends.is_copied(*kept[9]));
  EXPECT_FALSE(all.sends.is_copied(*kept[10]));
  EXPECT_EQ(kept[9]->arrival.owner, &all.lent);
  for (unexpected_message* each : kept) all.sends.put_unused(*each);
  EXPECT_TRUE(all.sends.budget().is_consistent());
}

}  // namespace
}  // namespace weft::core
