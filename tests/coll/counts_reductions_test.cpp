// SPDX-License-Identifier: BSD-3-Clause
// Rounds, messages and bytes of barriers, broadcasts and reductions are those of the literature, for 2 to 1024 ranks:
// taken from the schedules, without sending.
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "coll/algorithms/table.hpp"
#include "coll/schedule/counts.hpp"
#include "coll/some_nodes.hpp"
#include "support/random_seed.hpp"

namespace weft::coll {
namespace {

// Of n ranks; `p` is the largest power of two that is no more, `r` = n - p, `log_p` its logarithm. Reduce-scatter has a
// block of `bytes` for each rank.
struct group_numbers {
  std::uint64_t n, p, r, log_p, ceil_log;
  std::uint64_t bytes;

  // Rounds that ranks in pairs add, each before or behind the others.
  [[nodiscard]] std::uint64_t if_pairs(std::uint64_t rounds) const { return r != 0 ? rounds : 0; }
};

constexpr std::uint32_t segments = 16;

struct cost {
  std::uint64_t rounds, messages, bytes, bytes_of_a_rank;
};

using cost_function = cost (*)(const group_numbers& g);
enum class sizes_of { all, powers_of_2, powers_of_4 };

struct expected_cost {
  operation kind;
  std::string_view name;
  sizes_of sizes;
  bool is_quadratic;  // in messages
  cost_function formula;
};

cost pipeline(const group_numbers& g) {
  return {g.n + segments - 2, (g.n - 1) * segments, (g.n - 1) * g.bytes, g.bytes};
}
cost all_to_all(const group_numbers& g) {
  return {g.n - 1, g.n * (g.n - 1), g.n * (g.n - 1) * g.bytes, (g.n - 1) * g.bytes};
}

const std::vector<expected_cost> expected_costs{
    {operation::barrier, "dissemination", sizes_of::all, false,
     [](const group_numbers& g) -> cost {
       return {g.ceil_log, g.n * g.ceil_log, 0, 0};
     }},
    {operation::barrier, "linear", sizes_of::all, false,
     [](const group_numbers& g) -> cost {
       return {2 * (g.n - 1), 2 * (g.n - 1), 0, 0};
     }},
    {operation::barrier, "tree", sizes_of::all, false,
     [](const group_numbers& g) -> cost {
       return {2 * g.ceil_log, 2 * (g.n - 1), 0, 0};
     }},
    {operation::broadcast, "linear", sizes_of::all, false,
     [](const group_numbers& g) -> cost {
       return {g.n - 1, g.n - 1, (g.n - 1) * g.bytes, (g.n - 1) * g.bytes};
     }},
    {operation::broadcast, "binomial", sizes_of::all, false,
     [](const group_numbers& g) -> cost {
       return {g.ceil_log, g.n - 1, (g.n - 1) * g.bytes, g.ceil_log * g.bytes};
     }},
    {operation::broadcast, "k-nomial", sizes_of::powers_of_4, false,
     [](const group_numbers& g) -> cost {
       const std::uint64_t rounds = 3 * g.log_p / 2;
       return {rounds, g.n - 1, (g.n - 1) * g.bytes, rounds * g.bytes};
     }},
    {operation::broadcast, "scatter-allgather", sizes_of::powers_of_2, true,
     [](const group_numbers& g) -> cost {
       return {g.log_p + g.n - 1, g.n - 1 + g.n * (g.n - 1) - g.n / 2 * g.log_p, (g.n - 1) * g.bytes,
               2 * (g.n - 1) * (g.bytes / g.n)};
     }},
    {operation::broadcast, "chain", sizes_of::all, false, pipeline},
    {operation::reduce, "linear", sizes_of::all, false,
     [](const group_numbers& g) -> cost {
       return {g.n - 1, g.n - 1, (g.n - 1) * g.bytes, g.bytes};
     }},
    {operation::reduce, "binomial", sizes_of::all, false,
     [](const group_numbers& g) -> cost {
       return {g.ceil_log, g.n - 1, (g.n - 1) * g.bytes, g.bytes};
     }},
    {operation::reduce, "rabenseifner", sizes_of::all, false,
     [](const group_numbers& g) -> cost {
       const std::uint64_t part = g.bytes / g.p;
       return {2 * g.log_p + g.if_pairs(1), g.p * g.log_p + g.p - 1 + g.r,
               (g.p - 1 + g.r) * g.bytes + g.log_p * (g.bytes / 2), g.bytes - part + g.bytes / 2};
     }},
    {operation::reduce, "chain", sizes_of::all, false, pipeline},
    {operation::allreduce, "linear", sizes_of::all, false,
     [](const group_numbers& g) -> cost {
       return {2 * (g.n - 1), 2 * (g.n - 1), 2 * (g.n - 1) * g.bytes, (g.n - 1) * g.bytes};
     }},
    {operation::allreduce, "recursive-doubling", sizes_of::all, false,
     [](const group_numbers& g) -> cost {
       const std::uint64_t messages = g.p * g.log_p + 2 * g.r;
       return {g.log_p + g.if_pairs(2), messages, messages * g.bytes, (g.log_p + g.if_pairs(1)) * g.bytes};
     }},
    {operation::allreduce, "rabenseifner", sizes_of::all, false,
     [](const group_numbers& g) -> cost {
       return {2 * g.log_p + g.if_pairs(2), 2 * (g.p * g.log_p + g.r), 2 * (g.p - 1 + g.r) * g.bytes,
               2 * (g.bytes - g.bytes / g.p) + g.if_pairs(1) * g.bytes};
     }},
    {operation::allreduce, "ring", sizes_of::all, true,
     [](const group_numbers& g) -> cost {
       return {2 * (g.n - 1), 2 * g.n * (g.n - 1), 2 * (g.n - 1) * g.bytes, 2 * (g.n - 1) * (g.bytes / g.n)};
     }},
    {operation::reduce_scatter, "pairwise", sizes_of::all, true, all_to_all},
    {operation::reduce_scatter, "ring", sizes_of::all, true, all_to_all},
    {operation::reduce_scatter, "recursive-halving", sizes_of::powers_of_2, false,
     [](const group_numbers& g) -> cost {
       return {g.log_p, g.n * g.log_p, (g.n - 1) * g.n * g.bytes, (g.n - 1) * g.bytes};
     }},
};

bool is_meant(const expected_cost& which, std::uint32_t n) {
  if (which.sizes == sizes_of::powers_of_2 && !std::has_single_bit(n)) return false;
  if (which.sizes == sizes_of::powers_of_4 && (!std::has_single_bit(n) || std::countr_zero(n) % 2 != 0)) return false;
  if (!which.is_quadratic) return n < 70 || n % 50 == 0 || std::has_single_bit(n) || std::has_single_bit(n + 1);
  return n < 34 || n == 64 || n == 128 || (n == 1024 && !weft::test::under_sanitizer);
}

const algorithm& algorithm_of(operation kind, std::string_view name) {
  for (const algorithm& each : algorithms()) {
    if (each.operation == kind && each.name == name) return each;
  }
  throw std::runtime_error{"there is no such algorithm"};
}

// Bytes that can be cut into n parts, p parts and segments.
collective_args args_of(operation kind, std::uint32_t n) {
  collective_args out{.operation = kind, .size = n, .element_bytes = 8};
  out.block_bytes = std::uint64_t{out.element_bytes} * segments * n * std::bit_floor(n);
  out.segment_bytes = out.block_bytes / segments;
  return out;
}

counts count_of(operation kind, std::string_view name, std::uint32_t n) {
  return count(algorithm_of(kind, name), args_of(kind, n));
}

TEST(coll_counts_of_reductions, equal_the_formulas_of_the_literature) {
  for (const expected_cost& each : expected_costs) {
    for (std::uint32_t n = 2; n <= 1024; ++n) {
      if (!is_meant(each, n)) continue;
      const std::uint64_t p = std::bit_floor(n);
      const group_numbers g{.n = n,
                            .p = p,
                            .r = n - p,
                            .log_p = static_cast<std::uint64_t>(std::countr_zero(p)),
                            .ceil_log = static_cast<std::uint64_t>(std::bit_width(n - 1)),
                            .bytes = args_of(each.kind, n).block_bytes};
      const cost expected = each.formula(g);
      const counts counted = count_of(each.kind, each.name, n);
      SCOPED_TRACE(std::string{name_of(each.kind)} + ' ' + std::string{each.name} + ' ' + std::to_string(n));
      EXPECT_EQ(counted.wrong, "");
      EXPECT_EQ(counted.rounds, expected.rounds);
      EXPECT_EQ(counted.messages, expected.messages);
      EXPECT_EQ(counted.bytes, expected.bytes);
      EXPECT_EQ(counted.bytes_of_a_rank, expected.bytes_of_a_rank);
    }
  }
}

TEST(coll_counts_of_reductions, sizes_between_the_powers_cost_no_more_than_their_bounds) {
  for (std::uint32_t n = 2; n <= 260; ++n) {
    const auto ceil_log = static_cast<std::uint32_t>(std::bit_width(n - 1));
    const counts k_nomial = count_of(operation::broadcast, "k-nomial", n);
    EXPECT_LE(k_nomial.rounds, 3 * ((ceil_log + 1) / 2)) << n;
    EXPECT_EQ(k_nomial.messages, n - 1) << n;
    const std::uint64_t bytes = args_of(operation::broadcast, n).block_bytes;
    EXPECT_EQ(k_nomial.bytes, (n - 1) * bytes) << n;
    const counts halving = count_of(operation::reduce_scatter, "recursive-halving", n);
    const std::uint64_t p = std::bit_floor(n), r = n - p;
    EXPECT_EQ(halving.rounds, static_cast<std::uint32_t>(std::countr_zero(p)) + (r != 0 ? 2 : 0)) << n;
    EXPECT_EQ(halving.messages, p * static_cast<std::uint64_t>(std::countr_zero(p)) + 2 * r) << n;
    EXPECT_EQ(halving.bytes, ((p - 1 + r) * n + r) * bytes) << n;
    if (n > 100 && n % 50 != 0) continue;
    const counts scatter = count_of(operation::broadcast, "scatter-allgather", n);
    EXPECT_LE(scatter.rounds, ceil_log + n - 1) << n;
    EXPECT_EQ(scatter.bytes, (n - 1) * bytes) << n;
  }
}

// A block of more than 2^32 bytes, and more in all.
TEST(coll_counts_of_reductions, bytes_have_64_bits) {
  const node_map nodes = test::nodes_of(6, 2);
  for (const algorithm& each : algorithms()) {
    const collective_args args{.operation = each.operation,
                               .size = 6,
                               .root = 4,
                               .block_bytes = 3 * (std::uint64_t{1} << 40),
                               .element_bytes = 8,
                               .nodes = &nodes};
    if (!each.can(args)) continue;
    const counts counted = count(each, args);
    EXPECT_EQ(counted.wrong, "");
    if (each.operation != operation::barrier) {
      EXPECT_GE(counted.bytes, 5 * args.block_bytes) << name_of(each.operation) << ' ' << each.name;
    }
  }
}

// Of another root than rank 0.
TEST(coll_counts_of_reductions, order_of_ranks_costs_a_binomial_reduce_one_message_more) {
  collective_args args = args_of(operation::reduce, 11);
  args.root = 3;
  args.is_commutative = false;
  const counts counted = count(algorithm_of(operation::reduce, "binomial"), args);
  EXPECT_EQ(counted.wrong, "");
  EXPECT_EQ(counted.messages, 11U);
  EXPECT_EQ(counted.rounds, 5U);
}

}  // namespace
}  // namespace weft::coll
