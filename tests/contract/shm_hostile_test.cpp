// SPDX-License-Identifier: BSD-3-Clause
// Shared memory in which a peer has written values that it never should: refused and counted, never believed.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "contract/job.hpp"

namespace weft::contract {
namespace {

using net::cell;
using net::packet_reference;
using net::post_result;
using net::ring_control;
using return_entry = net::shm::return_ring::entry;
using net::shm::segment_header;

// Rank 0 goes wild, rank 1 has to stand it.
class hostile_peer : public testing::TestWithParam<seen_sink> {
 protected:
  // A ring from a device of rank 0, used by this test alone, to device 0 of rank 1.
  static constexpr std::uint32_t wild_device = 3;

  void SetUp() override {
    out_ = job_.from().open(0, GetParam());
    in_ = job_.to().open(0, GetParam());
  }

  [[nodiscard]] static net::shm::shm_transport& shm_of(side& one) {
    return dynamic_cast<net::shm::shm_transport&>(one.transport);
  }
  [[nodiscard]] const net::shm::layout& where() { return shm_of(job_.from()).where(); }
  [[nodiscard]] std::byte* segment_of(std::uint32_t rank) {
    return (rank == 0 ? job_.from() : job_.to()).transport.sharing()->packet_memory() - where().packets;
  }
  [[nodiscard]] net::shm::peer& victim() { return shm_of(job_.from()).peer_at(1); }
  [[nodiscard]] ring_control& wild_ring() { return victim().ring_control_at(0, wild_device); }
  [[nodiscard]] std::uint64_t refused(std::uint32_t rank) {
    return (rank == 0 ? job_.from() : job_.to()).transport.counted().refused;
  }

  template <class Word>
  static void forge(std::atomic<Word>& word, Word lie) {
    word.store(lie, std::memory_order_relaxed);  // relaxed: the victim reads it in this thread
  }

  // The next cell of the wild ring: `word` is the word of kind, bytes and flags.
  template <class Payload>
  void forge(std::uint32_t word, const Payload& payload, std::uint64_t tag = 0) {
    static_assert(sizeof payload <= detail::inline_bytes_max);
    if (tail_ == 0) victim().connect(0, wild_device);
    cell& next = reinterpret_cast<cell*>(&wild_ring() + 1)[tail_ % ring_cells];
    next.id_and_order = 0;
    next.tag = tag;
    std::memcpy(next.payload, &payload, sizeof payload);
    forge(next.head, ++tail_ | std::uint64_t{word} << 32);
  }

  [[nodiscard]] static std::uint32_t word_of(std::uint32_t kind, std::uint32_t bytes, std::uint32_t flags) {
    return kind | bytes << 16 | flags << 24;
  }

  unsigned poll() {
    unsigned moved = 0;
    for (int i = 0; i < 4; ++i) moved += in_->poll(sink_, 64);
    return moved;
  }

  void expect_all_packets_home() {
    sink_.messages.clear();
    EXPECT_EQ(job_.from().packets.free_count(), packet_count);
    EXPECT_EQ(job_.to().packets.free_count(), packet_count);
  }

  test_job job_{over_shm()};
  std::unique_ptr<endpoint> out_, in_;
  sink sink_;
  std::uint32_t tail_ = 0;
};

INSTANTIATE_TEST_SUITE_P(least_sink, hostile_peer, testing::Values(seen_sink::least));
INSTANTIATE_TEST_SUITE_P(whole_sink, hostile_peer, testing::Values(seen_sink::whole));

TEST_P(hostile_peer, writes_sizes_flags_and_packets_that_can_not_be_and_the_next_good_message_arrives) {
  struct {
    std::uint32_t word;
    packet_reference packet;
  } const wrong[] = {
      {word_of(1, 41, 0), {0, 0}},  // more than a cell holds
      {word_of(1, 255, 0), {0, 0}},
      {word_of(1, 0, 1), {0, 8}},  // a packet without its reference
      {word_of(1, 7, 1), {0, 8}},
      {word_of(1, 9, 1), {0, 8}},
      {word_of(1, 40, 1), {0, 8}},
      {word_of(1, 8, 1), {packet_count, 8}},  // packets that are not there
      {word_of(1, 8, 1), {0x8000'0000, 8}},
      {word_of(1, 8, 1), {net::packet_store::none, 8}},
      {word_of(1, 8, 1), {0, packet_bytes + 1}},  // packets that are too long
      {word_of(1, 8, 1), {packet_count - 1, 0xffff'ffff}},
      {word_of(1, 8, 0xff), {packet_count, 8}},
      {~0U, {~0U, ~0U}},
  };
  std::uint64_t count = 0;
  for (const auto& each : wrong) {
    forge(each.word, each.packet);
    forge(word_of(sink::word_kinds[0].kind + count % 2, 8, 0), std::uint64_t{42}, count);
    EXPECT_EQ(poll(), 2U);
    EXPECT_EQ(refused(1), ++count);
    ASSERT_EQ(sink_.messages.size(), count);
    EXPECT_EQ(sink_.messages.back().header.tag, count - 1);
    EXPECT_EQ(sink_.messages.back().bytes.size(), 8U);
  }
  expect_all_packets_home();
}

TEST_P(hostile_peer, writes_anything_and_every_cell_is_delivered_within_bounds_or_refused) {
  std::mt19937_64 random{20'240'607};
  std::uint64_t written = 0, delivered = 0;
  for (int lap = 0; lap < 3000; ++lap) {
    for (std::uint32_t i = 0; i < ring_cells; ++i, ++written) {
      std::array<std::uint64_t, 5> junk;
      for (auto& each : junk) each = random() >> random() % 64;
      // Now and then something that is nearly right.
      const auto word = static_cast<std::uint32_t>(random());
      forge(random() % 2 == 0 ? word : word_of(word & 7, 8, word >> 31), junk, random());
    }
    EXPECT_EQ(poll(), ring_cells);
    for (const received& each : sink_.messages) {
      ASSERT_LE(each.bytes.size(), each.owner == nullptr ? detail::inline_bytes_max : packet_bytes);
    }
    delivered += sink_.messages.size();
    sink_.messages.clear();
    ASSERT_EQ(delivered + refused(1), written);
  }
  EXPECT_GT(delivered, 0U);
  EXPECT_GT(refused(1), 0U);
  // Rank 0 refuses packets that come back without having been lent.
  expect_all_packets_home();
}

TEST_P(hostile_peer, hands_over_a_packet_that_it_still_has_and_gets_it_back_only_where_it_was_lent) {
  forge(word_of(1, 8, 1), packet_reference{3, 100});
  EXPECT_EQ(poll(), 1U);
  ASSERT_EQ(sink_.messages.size(), 1U);
  sink_.messages.clear();
  expect_all_packets_home();
  EXPECT_EQ(refused(0), 1U);
}

// Now it is rank 1 that is faulty, by its writes into the segment of rank 0.
TEST_P(hostile_peer, returns_packets_twice_and_packets_that_are_not_there) {
  packet_pool& packets = job_.from().packets;
  const std::uint32_t packet = packets.try_get();
  ASSERT_EQ(out_->try_send(1, net::any_device, {.kind = 1}, packet, 10), post_result::ok);
  ASSERT_EQ(poll(), 1U);
  sink_.messages.clear();  // the first entry: the packet
  auto* entries = reinterpret_cast<return_entry*>(segment_of(0) + where().return_ring(1));
  const std::uint32_t bogus[] = {packet + 1, packet + 1, packet_count + 1, 0x8000'0000, ~0U, 5};
  for (std::size_t i = 0; i < std::size(bogus); ++i) forge(entries[i + 1], bogus[i]);
  expect_all_packets_home();
  EXPECT_EQ(refused(0), std::size(bogus));
}

TEST_P(hostile_peer, fills_all_its_returns_with_nonsense_for_ever) {
  auto* entries = reinterpret_cast<return_entry*>(segment_of(0) + where().return_ring(1));
  for (std::uint32_t lap = 0; lap < 100; ++lap) {
    for (std::uint32_t i = 0; i < where().return_entries; ++i) forge(entries[i], lap * 31 + 1 + i);
    expect_all_packets_home();
  }
  EXPECT_GT(refused(0), 0U);
}

TEST_P(hostile_peer, claims_to_have_read_what_was_not_written) {
  const std::uint64_t word = 1;
  const auto post = [&] { return out_->try_send_inline(1, net::any_device, {.kind = 1}, &word, sizeof word); };
  while (post() == post_result::ok) {
  }
  auto& consumed = victim().ring_control_at(0, 0).consumed;
  for (const std::uint32_t bogus : {ring_cells + 1, 1000U, 0x8000'0000U, ~0U}) {
    forge(consumed, bogus);
    EXPECT_EQ(post(), post_result::full) << bogus;
  }
  forge(consumed, ring_cells);
  EXPECT_EQ(post(), post_result::ok);
}

TEST_P(hostile_peer, claims_devices_that_can_not_be) {
  auto& live = reinterpret_cast<segment_header*>(segment_of(1))->live;
  const std::vector<std::byte> before(job_.to().transport.sharing()->packet_memory(),
                                      job_.to().transport.sharing()->packet_memory() + packet_count * packet_bytes);
  const std::uint64_t word = ~std::uint64_t{0};
  for (const std::uint64_t bogus : {~0ULL, 1ULL << 63, 1ULL << devices_max, 0ULL, 0xffff'fff0ULL}) {
    forge(live, bogus);
    for (std::uint32_t device = 0; device < 70; ++device) {
      static_cast<void>(out_->try_send_inline(1, device, {.kind = 1}, &word, sizeof word));
    }
    static_cast<void>(out_->try_send_inline(1, net::any_device, {.kind = 1}, &word, sizeof word));
  }
  EXPECT_TRUE(std::ranges::equal(before, std::span{job_.to().transport.sharing()->packet_memory(), before.size()}));
  forge(live, std::uint64_t{1});
  poll();
  sink_.messages.clear();
  ASSERT_EQ(out_->try_send_inline(1, net::any_device, {.kind = 1, .tag = 77}, &word, sizeof word), post_result::ok);
  EXPECT_EQ(poll(), 1U);
  EXPECT_EQ(sink_.messages.back().header.tag, 77U);
}

TEST_P(hostile_peer, claims_to_have_opened_rings_that_can_not_be) {
  auto& word = *reinterpret_cast<std::atomic<std::uint64_t>*>(segment_of(1) + where().connect(0, 0));
  forge(word, ~std::uint64_t{0});
  // Its own rank's word, in which only rank 1 itself could write.
  auto& own = *reinterpret_cast<std::atomic<std::uint64_t>*>(segment_of(1) + where().connect(0, 1));
  forge(own, ~std::uint64_t{0});
  auto& opened = reinterpret_cast<net::shm::segment_header*>(segment_of(1))->opened;
  forge(opened, opened.load(std::memory_order_relaxed) + 1);  // relaxed: this thread alone
  EXPECT_EQ(poll(), 0U);
  const std::uint64_t payload = 5;
  ASSERT_EQ(out_->try_send_inline(1, net::any_device, {.kind = 1}, &payload, sizeof payload), post_result::ok);
  EXPECT_EQ(poll(), 1U);
}

// A ring says how many of its cells are in use. The peer says a number that can't be, or one that it does not keep to.
TEST(ring_depth, that_can_not_be_stands_for_all_cells) {
  base::settings settings = small_settings();
  settings.ring_cells = 32;
  settings.devices_max = 32;
  test_job job{over_shm(), settings};
  const auto out = job.from().open(0), in = job.to().open(0);
  auto& victim = dynamic_cast<net::shm::shm_transport&>(job.from().transport).peer_at(1);
  sink inbox;
  std::uint32_t device = 1;
  for (const std::uint32_t said : {0U, 1U, 2U, 4U, 7U, 8U, 9U, 16U, 31U, 32U, 33U, 64U, 1U << 20, 1U << 31, ~0U}) {
    ring_control& control = victim.ring_control_at(0, device);
    control.count.store(said, std::memory_order_relaxed);  // relaxed: `connect` publishes it
    victim.connect(0, device++);
    const std::uint32_t used = said == 8 || said == 16 ? said : 32;
    auto* const cells = reinterpret_cast<cell*>(&control + 1);
    for (std::uint32_t position = 0; position < 100; ++position) {
      cells[position % 32].id_and_order = 0;
      cells[position % 32].tag = position;
      const std::uint64_t head = net::cell_info{1, 8, false}.head(position + 1);
      cells[position % 32].head.store(head, std::memory_order_relaxed);  // relaxed: the victim reads it in this thread
      for (int i = 0; i < 2; ++i) in->poll(inbox, 64);
    }
    EXPECT_EQ(inbox.messages.size(), used == 32 ? 100U : used) << said;
    for (std::uint32_t i = 0; i < inbox.messages.size(); ++i) EXPECT_EQ(inbox.messages[i].header.tag, i) << said;
    inbox.messages.clear();
  }
  const std::uint64_t word = 7;
  EXPECT_EQ(out->try_send_inline(1, net::any_device, {.kind = 1}, &word, sizeof word), post_result::ok);
  EXPECT_EQ(in->poll(inbox, 64), 1U);
}

// A quota of none: everything is copied, and the peer has its packets back immediately.
TEST(foreign_packets, beyond_their_quota_are_copied_and_go_back_at_once) {
  base::settings settings = small_settings();
  settings.foreign_packets_max = 2;
  test_job job{over_shm(), settings};
  const auto out = job.from().open(0), in = job.to().open(0);
  sink inbox;
  for (std::uint64_t tag = 0; tag < 6; ++tag) {
    const std::uint32_t packet = job.from().packets.try_get();
    const auto payload = pattern(200, tag);
    std::memcpy(job.from().packets.data(packet), payload.data(), payload.size());
    ASSERT_EQ(out->try_send(1, net::any_device, {.kind = 1, .tag = tag}, packet, 200), post_result::ok);
    for (int i = 0; i < 4; ++i) in->poll(inbox, 16);
  }
  ASSERT_EQ(inbox.messages.size(), 6U);
  EXPECT_EQ(job.from().packets.free_count(), packet_count - 2);
  EXPECT_EQ(job.to().packets.free_count(), packet_count - 4);
  for (std::uint64_t tag = 0; tag < 6; ++tag) EXPECT_EQ(inbox.messages[tag].bytes, pattern(200, tag));
  inbox.messages.clear();
  EXPECT_EQ(job.from().packets.free_count(), packet_count);
  EXPECT_EQ(job.to().packets.free_count(), packet_count);
}

// Both ranks have all their packets under way to each other: one has to take a packet with none to copy it into.
TEST(foreign_packets, are_taken_beyond_their_quota_when_there_is_no_packet_to_copy_into) {
  base::settings settings = small_settings();
  settings.foreign_packets_max = 0;
  settings.ring_cells = 2 * packet_count;
  test_job job{over_shm(), settings};
  const auto one = job.from().open(0), other = job.to().open(0);
  const auto send_all = [](side& from, endpoint& through, std::uint32_t to) {
    for (std::uint32_t i = 0; i < packet_count; ++i) {
      ASSERT_EQ(through.try_send(to, net::any_device, {.kind = 1}, from.packets.try_get(), 100), post_result::ok);
    }
  };
  send_all(job.from(), *one, 1);
  send_all(job.to(), *other, 0);
  sink first, second;
  for (int i = 0; i < 100; ++i) {
    one->poll(first, 16);
    first.messages.clear();
    other->poll(second, 16);
    second.messages.clear();
  }
  EXPECT_EQ(job.from().packets.free_count(), packet_count);
  EXPECT_EQ(job.to().packets.free_count(), packet_count);
}

}  // namespace
}  // namespace weft::contract
