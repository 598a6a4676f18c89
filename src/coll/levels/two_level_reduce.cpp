// SPDX-License-Identifier: BSD-3-Clause
// Reduce on two levels: within each node to its leader, then between the leaders to the root.
//
// Cost, N nodes of at most q ranks, m bytes: rounds of a reduce among q ranks and of one among N; for short blocks
// (n - N) m bytes within nodes, and (N - 1) m between them. A leader holds m more. The algorithm of each phase is the
// one that the rules choose.
#include "coll/algorithms/algorithms.hpp"
#include "coll/levels/two_level.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

void two_level_reduce(schedule& out, const collective_args& args) {
  two_levels levels{out, args, args.root};
  const bool is_root = args.rank == args.root;
  const bool is_inplace = is_root && args.is_inplace;
  const part result{location::output, 0, args.block_bytes};
  const part own{is_inplace ? location::output : location::input, 0, args.block_bytes};
  if (levels.is_alone()) return levels.between(operation::reduce, args.block_bytes, is_inplace, {own, result});
  const part node_sum = is_root ? result : levels.is_leader() ? out.scratch(args.block_bytes) : part{};
  levels.within(phase::within_nodes, operation::reduce, args.block_bytes, is_inplace, {own, node_sum});
  if (levels.is_leader()) levels.between(operation::reduce, args.block_bytes, is_root, {node_sum, result});
}

}  // namespace weft::coll
