// SPDX-License-Identifier: BSD-3-Clause
// Counts beyond 2^31: schedules of blocks of many GiB, without memory; and messages of more than 2^31 bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "coll/algorithms/table.hpp"
#include "coll/args/collective_args.hpp"
#include "coll/schedule/counts.hpp"
#include "support/random_seed.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft::coll {
namespace {

// A block whose bytes are whole words in all cuts by 1 to 9 ranks.
constexpr std::uint64_t small_block = std::uint64_t{2520} * 8;
constexpr unsigned shift = 22;

struct extents {
  std::array<std::uint64_t, 3> bytes{};  // by location
};
extents extents_of(const algorithm& which, collective_args of, std::uint32_t rank) {
  of.rank = rank;
  schedule steps;
  which.function(steps, of);
  extents out;
  for (const step& each : steps.steps()) {
    for (const part& one : {each.from, each.into}) {
      if (one.bytes == 0) continue;
      std::uint64_t& end = out.bytes[static_cast<std::size_t>(one.location)];
      end = std::max(end, one.offset + one.bytes);
    }
  }
  EXPECT_LE(out.bytes[static_cast<std::size_t>(location::scratch)], steps.scratch_bytes());
  return out;
}

TEST(coll_counts, grow_with_blocks_beyond_32_bits) {
  for (const algorithm& each : algorithms()) {
    for (std::uint32_t size = 1; size <= 9; ++size) {
      collective_args of{.operation = each.operation, .size = size, .block_bytes = small_block, .element_bytes = 8};
      if (!each.can(of)) continue;
      collective_args large = of;
      large.block_bytes <<= shift;
      const counts few = count(each, of), many = count(each, large);
      EXPECT_EQ(many.wrong, "") << each.name;
      EXPECT_EQ(many.bytes, few.bytes << shift) << name_of(each.operation) << ' ' << each.name << ", " << size;
      for (const std::uint32_t rank : {0U, size - 1}) {
        const extents near = extents_of(each, of, rank), far = extents_of(each, large, rank);
        for (const location at : {location::input, location::output}) {
          EXPECT_EQ(far.bytes[static_cast<std::size_t>(at)], near.bytes[static_cast<std::size_t>(at)] << shift)
              << name_of(each.operation) << ' ' << each.name << ", " << size;
        }
      }
    }
  }
}

// Bytes without memory: each is made of its offset.
struct made_of_offsets {
  static std::byte byte_at(std::uint64_t offset) { return static_cast<std::byte>(offset >> 12 ^ offset >> 30); }

  std::size_t pack(const void* /*address*/, std::uint64_t offset, std::byte* to, std::size_t count) const {
    for (std::size_t i = 0; i < count;) {
      const std::size_t end = std::min<std::size_t>(count, i + 4096 - (offset + i) % 4096);
      std::fill(to + i, to + end, byte_at(offset + i));
      i = end;
    }
    return count;
  }
  std::size_t unpack(void* /*address*/, std::uint64_t offset, const std::byte* from, std::size_t count) const {
    return count == 0 || (from[0] == byte_at(offset) && from[count - 1] == byte_at(offset + count - 1)) ? count : 0;
  }
};

TEST(coll_counts, of_one_broadcast_are_beyond_32_bits) {
  if (weft::test::under_sanitizer) GTEST_SKIP() << "takes minutes";
  weft::test::local_job{2}.run([](runtime& rt) {
    const made_of_offsets shape;
    const layout unstored{shape};
    group all = rt.world();
    const std::size_t bytes = (std::size_t{1} << 31) + 4099;
    collective::broadcast(buffer_ref{nullptr, bytes, unstored}, 1).run(all, {.algorithm = "binomial"});
  });
}

}  // namespace
}  // namespace weft::coll
