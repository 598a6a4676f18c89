// SPDX-License-Identifier: BSD-3-Clause
// Broadcast and reductions against the oracle, for random arguments: elements of different sizes, blocks with gaps
// between them and in any order, in place or not, short segments, 1 to 33 ranks on one node or several.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "coll/algorithms/table.hpp"
#include "coll/bytes.hpp"
#include "coll/some_nodes.hpp"
#include "support/random_seed.hpp"

namespace weft::coll {
namespace {

constexpr int reductions_of_each = weft::test::under_sanitizer ? 40 : 250;

struct random_reduction {
  std::vector<collective_args> all;  // by rank
  std::vector<std::uint64_t> bytes;
  std::vector<std::vector<std::uint64_t>> offsets;
  std::shared_ptr<node_map> nodes;
};

std::uint64_t up_to(std::mt19937& random, std::uint64_t most) { return random() % (most + 1); }

// Blocks of one size for all ranks, which lie elsewhere at each.
void give_lists_for_reduce_scatter(random_reduction& to, std::mt19937& random) {
  const collective_args& args = to.all[0];
  const bool has_gaps = random() % 2 == 0, is_sparse = random() % 3 == 0;
  for (std::uint64_t& each : to.bytes = std::vector<std::uint64_t>(args.size))
    each = is_sparse && random() % 4 != 0 ? 0 : up_to(random, 9) * args.element_bytes;
  to.offsets.resize(args.size);
  std::vector<std::uint32_t> order(args.size);
  std::iota(order.begin(), order.end(), 0);
  for (collective_args& each : to.all) {
    std::vector<std::uint64_t>& offsets = to.offsets[each.rank];
    offsets.resize(args.size);
    if (has_gaps) std::ranges::shuffle(order, random);
    std::uint64_t end = up_to(random, 5);
    for (const std::uint32_t rank : order) {
      offsets[rank] = end;
      end += to.bytes[rank] + (has_gaps ? up_to(random, 3) : 0);
    }
    each.out_blocks = {to.bytes, offsets};
  }
}

random_reduction make_random_reduction(operation which, std::mt19937& random) {
  constexpr std::uint64_t element_sizes[] = {1, 3, 8, 8, 24};
  collective_args args{.operation = which, .element_bytes = element_sizes[random() % 5]};
  args.size = 1 + static_cast<std::uint32_t>(up_to(random, random() % 16 == 0 ? 32 : 9));
  args.root = static_cast<std::uint32_t>(up_to(random, args.size - 1));
  args.block_bytes = up_to(random, random() % 2 == 0 ? 4 : 70) * args.element_bytes;
  args.segment_bytes = random() % 2 == 0 ? up_to(random, 100) : 32768;
  args.is_commutative = random() % 2 == 0;
  const auto nodes = std::make_shared<node_map>(test::random_nodes(args.size, random));
  args.nodes = nodes.get();
  args.is_oversubscribed = random() % 2 == 0;
  random_reduction out{std::vector<collective_args>(args.size, args), {}, {}, nodes};
  const bool mixes = random() % 4 == 0, is_inplace = random() % 2 == 0;
  for (std::uint32_t rank = 0; rank < args.size; ++rank) {
    out.all[rank].rank = rank;
    out.all[rank].is_inplace = mixes ? random() % 2 == 0 : is_inplace;
  }
  if (which == operation::reduce_scatter && random() % 2 == 0) give_lists_for_reduce_scatter(out, random);
  return out;
}

bool is_reduction(operation which) {
  return which == operation::broadcast || which == operation::reduce || which == operation::allreduce ||
         which == operation::reduce_scatter;
}

TEST(coll_random_reductions, give_what_the_oracle_gives) {
  std::mt19937 random{static_cast<std::mt19937::result_type>(weft::test::random_seed())};
  for (const algorithm& each : algorithms()) {
    if (!is_reduction(each.operation)) continue;
    for (int tried = 0; tried < reductions_of_each;) {
      const random_reduction drawn = make_random_reduction(each.operation, random);
      const collective_args& args = drawn.all[0];
      if (!each.can(args)) continue;
      ++tried;
      ASSERT_EQ(test::check(each, drawn.all, random), "")
          << name_of(each.operation) << ' ' << each.name << ": " << args.size << " ranks, root " << args.root << ", "
          << args.block_bytes << " bytes, elements of " << args.element_bytes << ", segments of " << args.segment_bytes
          << ", commutative: " << args.is_commutative << ", rank 0 in place: " << args.is_inplace
          << ", lists: " << !args.out_blocks.bytes.empty() << ", nodes: " << args.nodes->nodes();
    }
  }
}

}  // namespace
}  // namespace weft::coll
