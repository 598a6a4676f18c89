// SPDX-License-Identifier: BSD-3-Clause
// Lists of buffers between ranks that are threads: every operation that takes them, cut and laid out at random, and
// what a list must not cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/message/choose_protocol.hpp"
#include "core/message/payload.hpp"
#include "core/operation/copy_part.hpp"
#include "core/protocol/step_bench.hpp"
#include "support/scattered.hpp"
#include "weft/test/local_job.hpp"

namespace weft {
namespace {

using core::wire;
using test::step_bench;

// Of the RTS of a send to the default engine.
constexpr net::header to_default{
    .kind = core::kind_word(wire::send_rts, static_cast<std::uint32_t>(match_policy::rank_tag)),
    .id = default_matching_engine};

TEST(lists, arrive_whole_however_they_are_cut) {
  const std::uint64_t seed = test::random_seed();
  test::local_job{2}.run([&](runtime& rt) {
    test::list_load::run(rt, seed, test::under_sanitizer ? 20 : 80,
                         [](const std::string& problem) { ADD_FAILURE() << problem; });
    EXPECT_EQ(rt.counters().messages_refused, 0U);
  });
}

TEST(lists, of_pieces_one_behind_the_other_are_one_buffer) {
  std::array<std::byte, 64> bytes{};
  const auto piece = [&](std::size_t from, std::size_t count) { return const_buffer_ref{bytes.data() + from, count}; };
  const std::array whole{piece(0, 8), piece(30, 0), piece(8, 8), const_buffer_ref{}, piece(16, 48)};
  const core::source_payload one{const_buffer_list{whole}};
  EXPECT_FALSE(one.is_list());
  EXPECT_EQ(one.address(), bytes.data());
  EXPECT_EQ(one.bytes(), 64U);
  const std::array apart{piece(0, 8), piece(9, 8)};
  EXPECT_TRUE(core::source_payload{const_buffer_list{apart}}.is_list());
  const std::array turned{piece(8, 8), piece(0, 8)};
  EXPECT_TRUE(core::source_payload{const_buffer_list{turned}}.is_list());
  const std::array none{const_buffer_ref{}, piece(3, 0)};
  EXPECT_EQ(core::source_payload{const_buffer_list{none}}.bytes(), 0U);
  EXPECT_FALSE(core::source_payload{const_buffer_list{none}}.is_bad());
}

// From each place to each other one, forwards and backwards.
TEST(lists, are_copied_from_any_place) {
  std::mt19937_64 random{test::random_seed()};
  for (int round = 0; round < 40; ++round) {
    const std::size_t bytes = 1 + random() % 5000;
    test::scattered memory{bytes, static_cast<test::cut>(random() % static_cast<unsigned>(test::cut::count)), random};
    memory.fill(1);
    const core::source_payload list{memory.from()};
    std::vector<std::byte> whole(bytes);
    EXPECT_TRUE(list.copy_to(whole.data(), bytes));
    core::list_position at;
    for (int copy = 0; copy < 50; ++copy) {
      const std::size_t offset = random() % bytes, count = 1 + random() % (bytes - offset);
      std::vector<std::byte> part(count);
      EXPECT_TRUE(list.copy_to(part.data(), offset, count, at));
      EXPECT_TRUE(std::ranges::equal(part, std::span{whole}.subspan(offset, count)));
      std::array<net::memory_piece, 7> pieces;
      const core::found_pieces found = list.find_pieces(offset, count, at, pieces);
      ASSERT_LE(found.bytes, count);
      ASSERT_GT(found.bytes, 0U);
      std::vector<std::byte> gathered(found.bytes);
      const net::memory_piece into = net::piece_of(gathered.data(), found.bytes);
      net::copy_here({&into, 1}, {pieces.data(), found.count});
      EXPECT_TRUE(std::ranges::equal(gathered, std::span{whole}.subspan(offset, found.bytes)));
    }
  }
}

// Each chunk continues where the one before has ended: the pieces of a list are not counted again for each.
TEST(lists, of_short_pieces_go_in_packets_and_are_walked_once) {
  step_bench::run([](step_bench& bench) {
    std::mt19937_64 random{test::random_seed()};
    constexpr std::size_t bytes = std::size_t{1} << 20;
    test::scattered mine{bytes, test::cut::words, random};
    mine.fill(5);
    counter sent{bench.rt()};
    ASSERT_TRUE(bench.dev().post_send(1, mine.from(), sent).is_posted());
    const auto rts = bench.take(wire::send_rts).body<core::rts_body>();
    EXPECT_EQ(rts.address, 0U);
    EXPECT_TRUE(bench.deliver(wire::rtr, core::rtr_body{rts.ticket, 77}));
    std::vector<std::byte> theirs(bytes);
    std::size_t chunks = 0;
    for (int i = 0; i < 1000 && sent.value() == 0; ++i) {
      bench.step();
      for (; !bench.script().sent.empty(); ++chunks) {
        const test::sent_message chunk = bench.take(wire::chunk);
        ASSERT_LE(chunk.header.id + chunk.bytes.size(), bytes);
        std::ranges::copy(chunk.bytes, theirs.begin() + chunk.header.id);
      }
    }
    EXPECT_EQ(sent.value(), 1U);
    EXPECT_EQ(chunks, bytes / bench.rt().attributes().packet_bytes);
    std::vector<std::byte> wanted(bytes);
    EXPECT_TRUE(core::source_payload{mine.from()}.copy_to(wanted.data(), bytes));
    EXPECT_EQ(theirs, wanted);
  });
}

// A list of long pieces at either side, or both.
TEST(list_steps, of_long_pieces_are_copied_by_both_sides) {
  for (const unsigned sides : {1U, 2U, 3U}) {
    step_bench::run([sides](step_bench& bench) {
      constexpr std::size_t piece = core::remote_piece_bytes_min + 100, bytes = 64 * piece;
      std::vector<std::byte> theirs(2 * bytes, std::byte{1}), mine(2 * bytes);
      std::vector<const_buffer_ref> from;
      std::vector<buffer_ref> into;
      const std::size_t from_stride = (sides & 1) != 0 ? piece + 64 : piece;
      const std::size_t into_stride = (sides & 2) != 0 ? piece + 64 : piece;
      for (std::size_t i = 0; i < 64; ++i) {
        std::fill_n(theirs.begin() + static_cast<std::ptrdiff_t>(i * from_stride), piece,
                    static_cast<std::byte>(i + 2));
        from.emplace_back(theirs.data() + i * from_stride, piece);
        into.emplace_back(mine.data() + i * into_stride, piece);
      }
      completion_queue over{bench.rt()};
      ASSERT_TRUE(bench.dev().post_recv(1, buffer_list{into}, over).is_posted());
      const core::source_payload announced{const_buffer_list{from}};
      const bool is_list = announced.is_list();
      EXPECT_EQ(is_list, (sides & 1) != 0);
      const core::rts_body rts{
          reinterpret_cast<std::uint64_t>(is_list ? static_cast<const void*>(from.data()) : theirs.data()), bytes, 9, 0,
          is_list ? 64U : 0U};
      EXPECT_TRUE(bench.deliver(wire::send_rts, rts, to_default));
      bench.step();
      const auto invitation = bench.take(wire::copy_invitation).body<core::copy_invitation_body>();
      EXPECT_EQ(invitation.pieces, (sides & 2) != 0 ? 64U : 0U);
      for (int i = 0; i < 10; ++i) bench.step();
      EXPECT_EQ(bench.take(wire::fin).body<core::fin_body>().error, 0U);
      EXPECT_EQ(over.pop()->message_bytes(), bytes);
      for (std::size_t i = 0; i < 64; ++i) {
        const std::span got{mine.data() + i * into_stride, piece};
        EXPECT_EQ(std::ranges::count(got, static_cast<std::byte>(i + 2)), static_cast<std::ptrdiff_t>(piece)) << i;
        if ((sides & 2) != 0) {
          EXPECT_EQ(mine[i * into_stride + piece], std::byte{});
        }
      }
    });
  }
}

// A peer's list may have anything in it: fewer bytes than announced, sizes whose sum wraps around, empty pieces.
TEST(lists, of_a_peer_that_lies_end_the_receive_with_an_error) {
  constexpr std::uint64_t bytes = 40 * core::remote_piece_bytes_min;
  constexpr std::uint64_t huge = ~std::uint64_t{0};
  std::vector<std::byte> some(bytes, std::byte{3});
  const std::uint64_t at = reinterpret_cast<std::uint64_t>(some.data());
  struct listed {  // as a buffer_ref lies in memory
    std::uint64_t address, bytes, memory = 0;
  };
  const std::vector<std::vector<listed>> lies{
      std::vector<listed>(40, {at, 0}),
      {{at, 100}, {at, 0}, {0, 0}, {at, 8}},
      std::vector<listed>(40, {at, 4095, 99}),
  };
  for (const auto& lie : lies) {
    step_bench::run([&](step_bench& bench) {
      std::vector<std::byte> mine(bytes + 8);
      completion_queue over{bench.rt()};
      ASSERT_TRUE(bench.dev().post_recv(1, std::span{mine}.first(bytes), over).is_posted());
      const core::rts_body rts{reinterpret_cast<std::uint64_t>(lie.data()), bytes, 9, 0,
                               static_cast<std::uint32_t>(lie.size())};
      EXPECT_TRUE(bench.deliver(wire::send_rts, rts, to_default));
      for (int i = 0; i < 10; ++i) bench.step();
      const auto record = over.pop();
      ASSERT_TRUE(record.has_value());
      EXPECT_EQ(record->error(), errc::transport_failed);
      EXPECT_EQ(std::ranges::count(std::span{mine}.last(8), std::byte{}), 8);
    });
  }
  // A piece that is longer than the message is used as far as the message goes.
  step_bench::run([&](step_bench& bench) {
    const std::vector<listed> list{{at, 5000}, {at, huge}, {at, huge}};
    std::vector<std::byte> mine(bytes + 8);
    completion_queue over{bench.rt()};
    ASSERT_TRUE(bench.dev().post_recv(1, std::span{mine}.first(bytes), over).is_posted());
    const core::rts_body rts{reinterpret_cast<std::uint64_t>(list.data()), bytes, 9, 0, 3};
    EXPECT_TRUE(bench.deliver(wire::send_rts, rts, to_default));
    for (int i = 0; i < 10; ++i) bench.step();
    EXPECT_EQ(over.pop()->error(), errc::none);
    EXPECT_EQ(std::ranges::count(std::span{mine}.first(bytes), std::byte{3}), static_cast<std::ptrdiff_t>(bytes));
    EXPECT_EQ(std::ranges::count(std::span{mine}.last(8), std::byte{}), 8);
  });
  // More pieces than can be: refused before any is read.
  step_bench::run([&](step_bench& bench) {
    for (const std::uint64_t pieces : {bytes / core::remote_piece_bytes_min + 1, std::uint64_t{0xffff'ffff}}) {
      const core::rts_body rts{at, bytes, 9, 0, static_cast<std::uint32_t>(pieces)};
      EXPECT_TRUE(bench.deliver(wire::send_rts, rts, to_default));
    }
    const core::rts_body endless{at, std::uint64_t{1} << 40, 9, 0, core::remote_pieces_max + 1};
    EXPECT_TRUE(bench.deliver(wire::send_rts, endless, to_default));
    EXPECT_EQ(bench.rt().counters().messages_refused, 3U);
  });
}

// A thread that copies a chunk may end after its operation, if a faulty peer has sent a chunk twice: the next use, of
// a shorter list perhaps, must not begin at its position.
TEST(lists, have_a_position_in_one_use_of_an_operation_alone) {
  core::copy_part copying;
  constexpr std::uint64_t first = std::uint64_t{7} << 32 | 3, second = std::uint64_t{8} << 32 | 3;
  const auto position_of = [&](std::uint64_t use) {
    core::list_position seen;
    copying.with_position(true, use, [&](core::list_position& at) { seen = at; });
    return std::pair{seen.begin, seen.piece};
  };
  const std::pair<std::uint64_t, std::uint32_t> beginning{0, 0}, late{7000, 900};
  copying.with_position(true, first, [&](core::list_position& at) {
    EXPECT_EQ(position_of(second), beginning);
    at = {7000, 900};
  });
  EXPECT_EQ(copying.kept.piece, 900U);
  EXPECT_EQ(position_of(first), late);
  EXPECT_EQ(position_of(second), beginning);
  copying.with_position(true, first, [&](core::list_position& at) { at = {7000, 900}; });
  ASSERT_TRUE(copying.uses_position.try_enter());
  EXPECT_EQ(position_of(first), beginning) << "another thread has the lock";
  copying.uses_position.leave();
  EXPECT_EQ(position_of(first), late);
}

// Chunks may overtake each other.
TEST(lists, are_written_by_chunks_in_any_order) {
  step_bench::run([](step_bench& bench) {
    std::mt19937_64 random{test::random_seed()};
    constexpr std::size_t bytes = 300'000, each = 8000;
    test::scattered mine{bytes, test::cut::random, random};
    std::vector<std::byte> theirs(bytes);
    test::scattered source{bytes, test::cut::one_piece, random};
    source.fill(3);
    EXPECT_TRUE(core::source_payload{source.from()}.copy_to(theirs.data(), bytes));
    completion_queue over{bench.rt()};
    ASSERT_TRUE(bench.dev().post_recv(1, mine.into(), over).is_posted());
    EXPECT_TRUE(bench.deliver(wire::send_rts, core::rts_body{0, bytes, 9, 0}, to_default));
    bench.step();
    const auto rtr = bench.take(wire::rtr).body<core::rtr_body>();
    std::vector<std::size_t> offsets;
    for (std::size_t offset = 0; offset < bytes; offset += each) offsets.push_back(offset);
    std::ranges::shuffle(offsets, random);
    for (const std::size_t offset : offsets) {
      const net::header header{.kind = static_cast<std::uint32_t>(wire::chunk),
                               .id = static_cast<std::uint32_t>(offset),
                               .tag = rtr.receiver_ticket};
      EXPECT_TRUE(
          bench.deliver(header, theirs.data() + offset, static_cast<std::uint32_t>(std::min(each, bytes - offset))));
    }
    EXPECT_TRUE(over.pop().has_value());
    EXPECT_EQ(mine.difference(3, bytes), std::nullopt);
  });
}

}  // namespace
}  // namespace weft
