// SPDX-License-Identifier: BSD-3-Clause
// Reduce along a binomial tree: each rank receives from the ranks with one more bit below its lowest, then sends to the
// rank without that. The root is the root of the tree; for an operation that is not commutative that is rank 0, which
// sends the result to the root.
//
// Cost, n ranks, m bytes: ceil(log2 n) rounds, n - 1 messages, (n - 1) m bytes; one round and message more for an
// operation that is not commutative and another root than rank 0.
#include <bit>

#include "coll/accumulator.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/ordered.hpp"
#include "coll/ranks.hpp"

namespace weft::coll {

void binomial_reduce(schedule& out, const shape& of) {
  constexpr std::uint32_t up = 0, to_root = 1;
  shape tree = of;
  if (!of.is_commutative) tree.root = 0;
  ordered steps{out};
  const range all{0, of.block_bytes};
  const bool is_root = of.rank == of.root;
  const part result{location::out, 0, of.block_bytes};
  const part own{is_root && of.is_inplace ? location::out : location::in, 0, of.block_bytes};
  const std::uint32_t mine = relative_rank(tree);
  accumulator sum{steps, {own, own.at == location::out, is_root && mine == 0 ? result : part{}}};
  const std::uint32_t lowest = mine == 0 ? std::bit_ceil(of.size) : mine & -mine;
  for (std::uint32_t bit = 1; bit < lowest; bit *= 2) {
    if (mine + bit < of.size) sum.receive(rank_of_relative(tree, mine + bit), up, all, false);
  }
  if (mine != 0) {
    sum.send(rank_of_relative(tree, mine - lowest), up, all);
    if (is_root) steps.receive(tree.root, to_root, result);
  } else if (is_root) {
    sum.finish(all, all);
  } else {
    sum.send(of.root, to_root, all);
  }
}

}  // namespace weft::coll
