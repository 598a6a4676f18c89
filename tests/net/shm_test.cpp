// SPDX-License-Identifier: BSD-3-Clause
// Segments as ranks see each other's: where things lie, what is believed, how packets go back.
// stages: release asan
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "net/packet_stride.hpp"
#include "net/shm/peer.hpp"
#include "weft/error.hpp"

namespace weft::net::shm {
namespace {

constexpr shape small{.ranks = 3, .devices_max = 2, .ring_cells = 8, .packet_count = 5, .packet_bytes = 512};

class parts {
 public:
  void add(std::size_t begin, std::size_t bytes) { all_.emplace_back(begin, begin + bytes); }

  // Whether no two overlap, and all lie between `begin` and `end`.
  [[nodiscard]] bool are_apart_within(std::size_t begin, std::size_t end) {
    std::sort(all_.begin(), all_.end());
    for (const auto& [first, last] : all_) {
      if (first < begin || last > end) return false;
      begin = last;
    }
    return true;
  }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> all_;
};

class layouts : public testing::TestWithParam<shape> {};

TEST_P(layouts, keep_everything_apart_and_inside_the_segment) {
  const shape& of = GetParam();
  const layout where{of};
  parts all;
  for (std::uint32_t rank = 0; rank < of.ranks; ++rank) {
    all.add(where.return_ring(rank), sizeof(return_ring::entry) * where.return_entries);
    for (std::uint32_t device = 0; device < of.devices_max; ++device) {
      all.add(where.connect(device, rank), sizeof(std::uint64_t));
      for (std::uint32_t source = 0; source < of.devices_max; ++source) {
        all.add(where.ring(device, rank, source), ring_bytes(of.ring_cells));
        EXPECT_EQ(where.ring(device, rank, source) % alignof(ring_control), 0U);
      }
    }
  }
  all.add(where.packets, packet_stride(of.packet_bytes) * of.packet_count);
  EXPECT_TRUE(all.are_apart_within(sizeof(segment_header), where.bytes));
  EXPECT_GT(where.return_entries, of.packet_count);
}

INSTANTIATE_TEST_SUITE_P(of_many_shapes, layouts,
                         testing::Values(small, shape{1, 1, 8, 1, 512}, shape{4, 64, 16, 64, 576},
                                         shape{2, 3, 256, 4096, 8192}, shape{65, 2, 8, 63, 1 << 20}),
                         [](const auto& each) { return "shape_" + std::to_string(each.index); });

struct fake_segment {
  fake_segment() {
    auto& header = *reinterpret_cast<segment_header*>(base());
    header.magic = segment_magic;
    header.rank = 1;
    header.shape = small;
  }
  [[nodiscard]] std::byte* base() { return reinterpret_cast<std::byte*>(memory.data()); }
  [[nodiscard]] segment_header& header() { return *reinterpret_cast<segment_header*>(base()); }
  struct alignas(4096) page {
    std::byte bytes[4096];
  };
  layout where{small};
  std::vector<page> memory = std::vector<page>(where.bytes / sizeof(page) + 1);
};

TEST(peer, is_refused_where_its_segment_is_not_what_was_agreed_on) {
  const auto refused_when = [](auto&& spoil) {
    fake_segment there;
    spoil(there.header());
    peer other{0, 1, there.where};
    try {
      other.attach(there.base(), segment{}, base::descriptor{}, true, 1);
    } catch (const error& thrown) {
      EXPECT_EQ(thrown.code(), errc::transport_failed);
      EXPECT_THAT(thrown.what(), testing::HasSubstr("rank 0 finds a segment of rank 1"));
      return !other.is_attached();
    }
    return false;
  };
  EXPECT_FALSE(refused_when([](segment_header&) {}));
  EXPECT_TRUE(refused_when([](segment_header& header) { header.magic ^= 1; }));
  EXPECT_TRUE(refused_when([](segment_header& header) { header.rank = 2; }));
  EXPECT_TRUE(refused_when([](segment_header& header) { header.shape.ranks = 4; }));
  EXPECT_TRUE(refused_when([](segment_header& header) { header.shape.devices_max = 64; }));
  EXPECT_TRUE(refused_when([](segment_header& header) { header.shape.ring_cells = 16; }));
  EXPECT_TRUE(refused_when([](segment_header& header) { header.shape.packet_count = 6; }));
  EXPECT_TRUE(refused_when([](segment_header& header) { header.shape.packet_bytes = 1024; }));
}

TEST(peer, gives_packets_back_in_the_order_of_their_release_round_and_round) {
  fake_segment there;
  peer other{2, 1, there.where};
  other.attach(there.base(), segment{}, base::descriptor{}, true, 1);
  auto* entries = reinterpret_cast<return_ring::entry*>(there.base() + there.where.return_ring(2));
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::uint32_t index = i * 3 % small.packet_count;
    other.count_taken();
    EXPECT_EQ(other.held(), 1U);
    other.release(other.packet(index), 10);
    EXPECT_EQ(other.held(), 0U);
    return_ring::entry& entry = entries[i % there.where.return_entries];
    EXPECT_EQ(entry.load(), index + 1);
    entry.store(0);
  }
}

// Copies between a word here and a word of the peer's.
copy_result read(const peer& from, std::uint64_t& word, std::uint64_t remote) {
  const memory_piece here = piece_of(&word, sizeof word), there{remote, sizeof word};
  return from.read({&here, 1}, {&there, 1});
}
copy_result write(const peer& to, const std::uint64_t& word, std::uint64_t remote) {
  const memory_piece here = piece_of(&word, sizeof word), there{remote, sizeof word};
  return to.write({&here, 1}, {&there, 1});
}

TEST(peer, can_be_read_only_after_a_probe_that_went_well) {
  fake_segment there;
  const std::uint64_t word = 0x1234'5678'9abc'def0;
  std::uint64_t seen = 0;
  there.header().probe_address = reinterpret_cast<std::uint64_t>(&word);
  for (const auto& [wanted, value] : {std::pair{true, word}, {true, word + 1}, {false, word}}) {
    there.header().probe_value = value;
    peer other{0, 1, there.where};
    other.attach(there.base(), segment{}, base::descriptor{}, true, 1);
    EXPECT_EQ(read(other, seen, there.header().probe_address), copy_result::unavailable);
    other.probe(wanted);
    const bool good = wanted && value == word;
    EXPECT_EQ(other.can_read(), good);
    EXPECT_EQ(read(other, seen, there.header().probe_address), good ? copy_result::done : copy_result::unavailable);
  }
}

// Its process number may be another process's by then: here it is that of this one, which can be read and written.
TEST(peer, whose_connection_has_hung_up_is_neither_read_nor_written) {
  fake_segment there;
  std::uint64_t word = 7, seen = 0;
  there.header().probe_address = reinterpret_cast<std::uint64_t>(&word);
  there.header().probe_value = word;
  std::array<int, 2> sockets{-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()), 0);
  base::descriptor theirs{sockets[1]};
  peer other{0, 1, there.where};
  other.attach(there.base(), segment{}, base::descriptor{sockets[0]}, false, static_cast<std::uint32_t>(::getpid()));
  other.probe(true);
  if (!other.can_read()) GTEST_SKIP() << "process_vm_readv is forbidden here";
  const std::uint64_t from = 9;
  EXPECT_EQ(write(other, from, there.header().probe_address), copy_result::done);
  EXPECT_EQ(read(other, seen, there.header().probe_address), copy_result::done);
  EXPECT_EQ(std::exchange(seen, 0U), 9U);
  word = 7;
  theirs = base::descriptor{};
  EXPECT_EQ(write(other, from, there.header().probe_address), copy_result::peer_gone);
  EXPECT_EQ(word, 7U);
  EXPECT_EQ(read(other, seen, there.header().probe_address), copy_result::peer_gone);
}

TEST(peer, that_has_ended_has_no_device_that_takes_messages) {
  fake_segment there;
  there.header().live = 5;
  peer other{0, 1, there.where};
  other.attach(there.base(), segment{}, base::descriptor{}, true, 1);
  EXPECT_FALSE(other.has_ended() || other.ends_in_order());
  there.header().ends_in_order = 1;
  EXPECT_TRUE(other.ends_in_order());
  other.note_end();
  EXPECT_TRUE(other.has_ended());
  EXPECT_EQ(other.live_word(), 0U);
}

}  // namespace
}  // namespace weft::net::shm
