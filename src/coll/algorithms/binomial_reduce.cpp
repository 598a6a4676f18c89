// SPDX-License-Identifier: BSD-3-Clause
// Reduce along a binomial tree: each rank receives from the ranks with one more bit below its lowest, then sends to the
// rank without that. The root is the root of the tree; for an operation that is not commutative that is rank 0, which
// sends the result to the root.
//
// Cost, n ranks, m bytes: ceil(log2 n) rounds, n - 1 messages, (n - 1) m bytes; one round and message more for an
// operation that is not commutative and another root than rank 0.
#include <bit>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/accumulator.hpp"
#include "coll/schedule/ordered.hpp"
#include "coll/schedule/ranks.hpp"

namespace weft::coll {

void binomial_reduce(schedule& out, const collective_args& args) {
  constexpr std::uint32_t up = 0, to_root = 1;
  collective_args tree = args;
  if (!args.is_commutative) tree.root = 0;
  ordered steps{out};
  const range all{0, args.block_bytes};
  const bool is_root = args.rank == args.root;
  const part result{location::output, 0, args.block_bytes};
  const part own{is_root && args.is_inplace ? location::output : location::input, 0, args.block_bytes};
  const std::uint32_t mine = relative_rank(tree);
  accumulator sum{steps, {own, own.location == location::output, is_root && mine == 0 ? result : part{}}};
  const std::uint32_t lowest = mine == 0 ? std::bit_ceil(args.size) : mine & -mine;
  for (std::uint32_t bit = 1; bit < lowest; bit *= 2) {
    if (mine + bit < args.size) sum.receive(rank_of_relative(tree, mine + bit), up, all, false);
  }
  if (mine != 0) {
    sum.send(rank_of_relative(tree, mine - lowest), up, all);
    if (is_root) steps.receive(tree.root, to_root, result);
  } else if (is_root) {
    sum.finish(all, all);
  } else {
    sum.send(args.root, to_root, all);
  }
}

}  // namespace weft::coll
