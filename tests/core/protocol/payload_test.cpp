// SPDX-License-Identifier: BSD-3-Clause
// The user's buffer of a message in memory of kinds: what it is taken for, which of its bytes are copied by functions,
// and where a copy stops that fails.
#include "core/message/payload.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "core/protocol/direct_copy.hpp"
#include "support/random_seed.hpp"
#include "weft/memory.hpp"
#include "weft/test/local_job.hpp"

namespace weft {
namespace {

using core::list_position;
using core::source_payload;
using core::target_payload;

// Bytes with a gap of one behind each.
struct spread {
  std::size_t fails_from = ~std::size_t{0};
  mutable int calls = 0;

  std::size_t pack(const void* address, std::uint64_t offset, std::byte* to, std::size_t bytes) const {
    ++calls;
    if (offset + bytes > fails_from) return 0;
    for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<const std::byte*>(address)[2 * (offset + i)];
    return bytes;
  }
  std::size_t unpack(void* address, std::uint64_t offset, const std::byte* from, std::size_t bytes) const {
    ++calls;
    if (offset + bytes > fails_from) return 0;
    for (std::size_t i = 0; i < bytes; ++i) static_cast<std::byte*>(address)[2 * (offset + i)] = from[i];
    return bytes;
  }
};

std::vector<std::byte> counted(std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(1 + i % 255);
  return out;
}

TEST(payload_of_a_layout, is_no_ordinary_buffer_and_no_list_and_is_not_named_to_peers) {
  std::array<std::byte, 64> bytes{};
  const spread shape;
  const layout in{shape};
  const source_payload one{const_buffer_ref{bytes.data(), 32, in}};
  EXPECT_FALSE(one.is_ordinary());
  EXPECT_FALSE(one.is_list());
  EXPECT_TRUE(one.has_kinds());
  EXPECT_FALSE(one.is_for_peers());
  EXPECT_EQ(one.memory(), &in);
  EXPECT_EQ(one.address(), nullptr);
  EXPECT_EQ(one.address_of_piece(), bytes.data());
  EXPECT_EQ(one.bytes(), 32U);
  EXPECT_EQ(one.piece_bytes(), 0U);
  EXPECT_FALSE(one.is_bad());
  EXPECT_EQ(core::announced(one).address, 0U);
  EXPECT_FALSE((source_payload{const_buffer_ref{nullptr, 32, in}}.is_bad()));
  EXPECT_TRUE((source_payload{const_buffer_ref{nullptr, (std::size_t{1} << 62) + 1, in}}.is_bad()));
  EXPECT_FALSE((source_payload{const_buffer_ref{nullptr, 32, in}}.is_too_long()));
}

TEST(payload_of_a_layout, that_is_contiguous_is_ordinary_memory) {
  std::array<std::byte, 64> bytes{};
  const layout side_by_side{layout::contiguous{}};
  const source_payload one{const_buffer_ref{bytes.data(), 32, side_by_side}};
  EXPECT_TRUE(one.is_ordinary());
  EXPECT_FALSE(one.has_kinds());
  EXPECT_EQ(one.memory(), nullptr);
  EXPECT_EQ(one.address(), bytes.data());
  EXPECT_TRUE((source_payload{const_buffer_ref{nullptr, 32, side_by_side}}.is_bad()));
  const std::array adjacent{const_buffer_ref{bytes.data(), 32}, const_buffer_ref{bytes.data() + 32, 32, side_by_side}};
  EXPECT_TRUE((source_payload{const_buffer_list{adjacent}}.is_ordinary()));
}

TEST(payload_of_a_kind, is_named_to_peers_if_they_may_copy_it) {
  test::local_job{1}.run([](runtime& rt) {
    std::array<std::byte, 64> bytes{};
    const memory_kind kind{rt, "touchable", {.processor_may_touch = true, .peers_may_copy = true}};
    const memory in{kind};
    const source_payload one{const_buffer_ref{bytes.data(), 32, in}};
    EXPECT_TRUE(one.is_for_peers());
    EXPECT_FALSE(one.is_ordinary());
    EXPECT_EQ(core::announced(one).address, reinterpret_cast<std::uint64_t>(bytes.data()));
    list_position at;
    std::array<net::memory_piece, 2> pieces;
    const core::found_pieces found = one.find_pieces(8, 16, at, pieces);
    EXPECT_EQ(found.count, 1U);
    EXPECT_EQ(found.bytes, 16U);
    EXPECT_EQ(pieces[0].address, reinterpret_cast<std::uint64_t>(bytes.data() + 8));
    EXPECT_TRUE((source_payload{const_buffer_ref{nullptr, 8, in}}.is_bad()));
  });
}

TEST(payload_of_a_list, is_one_of_kinds_if_one_piece_is) {
  std::array<std::byte, 96> bytes{};
  const spread shape;
  const layout in{shape};
  // One behind the other, yet not one piece: the bytes of the second do not lie there.
  const std::array pieces{const_buffer_ref{bytes.data(), 32}, const_buffer_ref{bytes.data() + 32, 8, in}};
  const source_payload list{const_buffer_list{pieces}};
  EXPECT_TRUE(list.is_list());
  EXPECT_TRUE(list.has_kinds());
  EXPECT_FALSE(list.is_for_peers());
  EXPECT_EQ(list.memory(), nullptr);
  EXPECT_EQ(list.pieces(), 2U);
  EXPECT_EQ(list.piece_bytes(), 0U);
  EXPECT_EQ(core::announced(list, 1).address, 0U);
  std::size_t seen = 0;
  EXPECT_TRUE(list.each_buffer([&](const memory* of, const void* address, std::uint64_t size) {
    EXPECT_EQ(of, seen == 0 ? nullptr : &in);
    EXPECT_EQ(address, pieces[seen].address());
    EXPECT_EQ(size, pieces[seen].bytes());
    ++seen;
    return true;
  }));
  EXPECT_EQ(seen, 2U);
  EXPECT_FALSE(list.each_buffer([](const memory*, const void*, std::uint64_t) { return false; }));
  // A piece of a layout alone is a list, too; one without bytes does not count, and may have a null address.
  const std::array alone{const_buffer_ref{bytes.data(), 8, in}, const_buffer_ref{nullptr, 0}};
  EXPECT_TRUE((source_payload{const_buffer_list{alone}}.has_kinds()));
  const std::array none{const_buffer_ref{bytes.data(), 8}, const_buffer_ref{nullptr, 0, in}};
  EXPECT_FALSE((source_payload{const_buffer_list{none}}.has_kinds()));
  const std::array null_layout{const_buffer_ref{bytes.data(), 8}, const_buffer_ref{nullptr, 8, in}};
  EXPECT_FALSE((source_payload{const_buffer_list{null_layout}}.is_bad()));
  const std::array null_ordinary{const_buffer_ref{nullptr, 8}, const_buffer_ref{bytes.data(), 8, in}};
  EXPECT_TRUE((source_payload{const_buffer_list{null_ordinary}}.is_bad()));
}

TEST(payload_of_a_list, is_copied_from_any_place_with_pieces_of_kinds_in_it) {
  std::mt19937_64 random{test::random_seed()};
  const spread shape;
  const layout in{shape};
  for (int round = 0; round < 30; ++round) {
    std::vector<std::vector<std::byte>> memory;
    std::vector<buffer_ref> pieces;
    std::size_t all = 0;
    for (int i = 0; i < 12; ++i) {
      const std::size_t bytes = random() % 60;
      const bool is_spread = random() % 2 == 0;
      memory.emplace_back(is_spread ? 2 * bytes : bytes);
      pieces.push_back(is_spread ? buffer_ref{memory.back().data(), bytes, in}
                                 : buffer_ref{memory.back().data(), bytes});
      all += bytes;
    }
    const std::vector<const_buffer_ref> sources{pieces.begin(), pieces.end()};
    const target_payload into{buffer_list{pieces}};
    const source_payload from{const_buffer_list{sources}};
    ASSERT_EQ(into.bytes(), all);
    if (all == 0) continue;
    const std::vector<std::byte> wanted = counted(all);
    list_position at;
    for (std::size_t offset = 0; offset < all;) {
      const std::size_t count = std::min<std::size_t>(1 + random() % 50, all - offset);
      ASSERT_TRUE(into.copy_from(wanted.data() + offset, offset, count, at));
      offset += count;
    }
    for (int copy = 0; copy < 30; ++copy) {
      const std::size_t offset = random() % all, count = 1 + random() % (all - offset);
      std::vector<std::byte> part(count);
      ASSERT_TRUE(from.copy_to(part.data(), offset, count, at));
      ASSERT_TRUE(std::ranges::equal(part, std::span{wanted}.subspan(offset, count)));
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].memory() == nullptr) continue;
      for (std::size_t gap = 1; gap < memory[i].size(); gap += 2) ASSERT_EQ(memory[i][gap], std::byte{0});
    }
  }
}

TEST(payload_of_a_list, stops_at_the_piece_that_fails_and_can_be_copied_afterwards) {
  std::array<std::byte, 10> first{}, third{};
  std::array<std::byte, 20> second{};
  spread shape{.fails_from = 5};
  const layout in{shape};
  const std::array pieces{buffer_ref{first}, buffer_ref{second.data(), 10, in}, buffer_ref{third}};
  const target_payload into{buffer_list{pieces}};
  const std::vector<std::byte> message = counted(30);
  list_position at;
  EXPECT_FALSE(into.copy_from(message.data(), 0, 30, at));
  EXPECT_TRUE(std::ranges::equal(first, std::span{message}.first(10)));
  EXPECT_TRUE(std::ranges::all_of(third, [](std::byte each) { return each == std::byte{0}; }));
  EXPECT_EQ(shape.calls, 1);
  EXPECT_TRUE(into.copy_from(message.data(), 0, 15, at));  // before the part that fails
  shape.fails_from = ~std::size_t{0};
  EXPECT_TRUE(into.copy_from(message.data() + 12, 12, 18, at));
  std::vector<std::byte> read(30);
  const std::array<const_buffer_ref, 3> same{pieces[0], pieces[1], pieces[2]};
  EXPECT_TRUE((source_payload{const_buffer_list{same}}.copy_to(read.data(), 30)));
  EXPECT_EQ(read, message);
}

}  // namespace
}  // namespace weft
