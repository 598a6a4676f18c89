// SPDX-License-Identifier: BSD-3-Clause
// Allreduce on two levels: reduced within each node at its leader, then an allreduce of the leaders, and a broadcast
// within each node.
//
// Cost, N nodes of at most q ranks, m bytes: rounds of a reduce among q ranks, an allreduce among N, and a broadcast
// among q. Between nodes as many bytes as an allreduce of N ranks, and within nodes for short blocks 2 (n - N) m. The
// algorithm of each phase is the one that the rules choose.
#include "coll/algorithms/algorithms.hpp"
#include "coll/levels/two_level.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

void two_level_allreduce(schedule& out, const collective_args& args) {
  two_levels levels{out, args, 0};
  const part result{location::output, 0, args.block_bytes};
  const part own{args.is_inplace ? location::output : location::input, 0, args.block_bytes};
  if (levels.is_alone()) return levels.between(operation::allreduce, args.block_bytes, args.is_inplace, {own, result});
  levels.within(phase::within_nodes, operation::reduce, args.block_bytes, levels.is_leader() && args.is_inplace,
                {own, result});
  if (levels.is_leader()) levels.between(operation::allreduce, args.block_bytes, true, {result, result});
  levels.within(phase::within_nodes_again, operation::broadcast, args.block_bytes, false, {result, result});
}

}  // namespace weft::coll
