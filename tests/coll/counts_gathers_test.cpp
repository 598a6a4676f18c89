// SPDX-License-Identifier: BSD-3-Clause
// Rounds, messages and bytes of gathers, scatters, allgathers, alltoalls and scans are those of the literature, for 2
// to 1024 ranks: taken from the schedules, without sending.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "coll/algorithms/table.hpp"
#include "coll/schedule/counts.hpp"
#include "support/random_seed.hpp"

namespace weft::coll {
namespace {

constexpr std::uint64_t block_bytes = (std::uint64_t{1} << 33) + 8;  // of no 32-bit count

// In messages and in blocks, for n ranks.
struct costs {
  std::uint64_t rounds;
  std::uint64_t messages;
  std::uint64_t blocks;
  std::uint64_t blocks_of_a_rank;
};
struct formula {
  operation kind;
  std::string_view name;
  costs (*of)(std::uint64_t n);
};

std::uint64_t ceil_log2(std::uint64_t n) { return static_cast<std::uint64_t>(std::bit_width(n - 1)); }

// The bits of all numbers below n: how often blocks move if each moves by the bits of its distance.
std::uint64_t bits_below(std::uint64_t n) {
  std::uint64_t out = 0;
  for (std::uint64_t i = 0; i < n; ++i) out += static_cast<std::uint64_t>(std::popcount(i));
  return out;
}

// n - 2^k summed over the rounds.
std::uint64_t messages_of_doubling(std::uint64_t n) { return n * ceil_log2(n) - (std::bit_ceil(n) - 1); }

// Of a rank other than the root.
std::uint64_t largest_subtree(std::uint64_t n) {
  const std::uint64_t half = std::bit_ceil(n) / 2;
  return std::max(half / 2, n - half);
}

const std::vector<formula> formulas{
    {operation::gather, "linear",
     [](auto n) {
       return costs{n - 1, n - 1, n - 1, 1};
     }},
    {operation::gather, "binomial",
     [](auto n) {
       return costs{ceil_log2(n), n - 1, bits_below(n), largest_subtree(n)};
     }},
    {operation::scatter, "linear",
     [](auto n) {
       return costs{n - 1, n - 1, n - 1, n - 1};
     }},
    {operation::scatter, "binomial",
     [](auto n) {
       return costs{ceil_log2(n), n - 1, bits_below(n), n - 1};
     }},
    {operation::allgather, "ring",
     [](auto n) {
       return costs{n - 1, n * (n - 1), n * (n - 1), n - 1};
     }},
    {operation::allgather, "recursive-doubling",
     [](auto n) {
       return costs{ceil_log2(n), n * ceil_log2(n), n * (n - 1), n - 1};
     }},
    {operation::allgather, "bruck",
     [](auto n) {
       return costs{ceil_log2(n), n * ceil_log2(n), n * (n - 1), n - 1};
     }},
    {operation::alltoall, "linear",
     [](auto n) {
       return costs{n - 1, n * (n - 1), n * (n - 1), n - 1};
     }},
    {operation::alltoall, "pairwise",
     [](auto n) {
       return costs{n - 1, n * (n - 1), n * (n - 1), n - 1};
     }},
    {operation::alltoall, "bruck",
     [](auto n) {
       return costs{ceil_log2(n), n * ceil_log2(n), n * bits_below(n), bits_below(n)};
     }},
    {operation::scan, "linear",
     [](auto n) {
       return costs{n - 1, n - 1, n - 1, 1};
     }},
    {operation::scan, "recursive-doubling",
     [](auto n) {
       return costs{ceil_log2(n), messages_of_doubling(n), messages_of_doubling(n), ceil_log2(n)};
     }},
    {operation::exscan, "linear",
     [](auto n) {
       return costs{n - 1, n - 1, n - 1, 1};
     }},
    {operation::exscan, "recursive-doubling",
     [](auto n) {
       return costs{ceil_log2(n), messages_of_doubling(n), messages_of_doubling(n), ceil_log2(n)};
     }},
};

// All up to 33 and around powers of two; those with n^2 messages up to 256 under sanitizers.
std::vector<std::uint32_t> sizes(std::uint64_t messages_of_1024) {
  std::vector<std::uint32_t> out(32);
  std::iota(out.begin(), out.end(), 2U);
  for (const std::uint32_t n : {63U, 64U, 65U, 100U, 127U, 128U, 129U, 255U, 256U, 257U, 1000U, 1023U, 1024U}) {
    if (n <= 256 || messages_of_1024 < 100'000 || (n == 1024 && !weft::test::under_sanitizer)) out.push_back(n);
  }
  return out;
}

const algorithm* find(operation kind, std::string_view name) {
  for (const algorithm& each : algorithms())
    if (each.operation == kind && each.name == name) return &each;
  return nullptr;
}

void expect_costs(const algorithm& which, const collective_args& of, const costs& expected) {
  const counts counted = count(which, of);
  EXPECT_EQ(counted.wrong, "");
  EXPECT_EQ(counted.rounds, expected.rounds);
  EXPECT_EQ(counted.messages, expected.messages);
  EXPECT_EQ(counted.bytes, expected.blocks * of.block_bytes);
  EXPECT_EQ(counted.bytes_of_a_rank, expected.blocks_of_a_rank * of.block_bytes);
}

TEST(coll_counts_gathers, are_those_of_the_literature) {
  for (const formula& each : formulas) {
    const algorithm* const which = find(each.kind, each.name);
    ASSERT_NE(which, nullptr) << each.name;
    for (const std::uint32_t n : sizes(each.of(1024).messages)) {
      const collective_args of{.operation = each.kind, .size = n, .block_bytes = block_bytes, .element_bytes = 8};
      if (!which->can(of)) continue;
      SCOPED_TRACE(testing::Message() << name_of(each.kind) << ' ' << each.name << ", " << n << " ranks");
      expect_costs(*which, of, each.of(n));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(coll_counts_gathers, do_not_depend_on_the_root) {
  for (const formula& each : formulas) {
    if (each.kind != operation::gather && each.kind != operation::scatter) continue;
    for (const std::uint32_t n : {2U, 3U, 8U, 13U, 32U, 100U}) {
      for (std::uint32_t root = 0; root < n; ++root) {
        SCOPED_TRACE(testing::Message() << name_of(each.kind) << ' ' << each.name << ", " << n << ", root " << root);
        const collective_args of{.operation = each.kind, .size = n, .root = root, .block_bytes = block_bytes};
        expect_costs(*find(each.kind, each.name), of, each.of(n));
      }
    }
  }
}

// The bits of all numbers below a power of two are known in closed form.
TEST(coll_counts_gathers, blocks_of_trees_and_of_bruck_move_half_of_log2_n_times) {
  for (std::uint64_t n = 2; n <= 1024; n *= 2) EXPECT_EQ(bits_below(n), n / 2 * ceil_log2(n));
}

// Two ranks exchange at a time, and need memory for one block.
TEST(coll_counts_gathers, pairwise_alltoall_in_place_takes_at_most_one_round_more) {
  for (std::uint32_t n = 2; n <= 100; ++n) {
    const collective_args of{
        .operation = operation::alltoall, .size = n, .block_bytes = block_bytes, .is_inplace = true};
    const counts counted = count(*find(operation::alltoall, "pairwise"), of);
    EXPECT_EQ(counted.wrong, "");
    EXPECT_EQ(counted.rounds, std::has_single_bit(n) ? n - 1 : n) << n;
    EXPECT_EQ(counted.messages, std::uint64_t{n} * (n - 1)) << n;
    schedule one;
    find(operation::alltoall, "pairwise")->function(one, of);
    EXPECT_LE(one.scratch_bytes(), block_bytes + 64) << n;
  }
}

// A halo exchange by alltoall: the blocks of 0 bytes cost no messages.
TEST(coll_counts_gathers, blocks_of_0_bytes_are_no_messages) {
  constexpr std::uint32_t n = 16;
  for (const std::string_view name : {"linear", "pairwise"}) {
    std::vector<schedule> all(n);
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      std::vector<std::uint64_t> bytes(n), offsets(n);
      bytes[(rank + 1) % n] = bytes[(rank + n - 1) % n] = 64;
      const collective_args of{.operation = operation::alltoall,
                               .rank = rank,
                               .size = n,
                               .in_blocks = {bytes, offsets},
                               .out_blocks = {bytes, offsets}};
      find(operation::alltoall, name)->function(all[rank], of);
    }
    const counts counted = count(all);
    EXPECT_EQ(counted.wrong, "");
    EXPECT_EQ(counted.messages, 2 * n) << name;
    EXPECT_EQ(counted.rounds, 2) << name;
  }
}

}  // namespace
}  // namespace weft::coll
