// SPDX-License-Identifier: BSD-3-Clause
// Barrier on two levels: signals go up a tree to the leader of each node, the leaders have a barrier, and signals go
// down the trees.
//
// Cost, n ranks on N nodes of at most q: 2 ceil(log2 q) rounds and those of a barrier among N ranks, ceil(log2 N);
// 2 (n - N) messages within nodes, and between them those of that barrier, N ceil(log2 N).
#include "coll/algorithms/algorithms.hpp"
#include "coll/levels/two_level.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

void two_level_barrier(schedule& out, const collective_args& args) {
  two_levels levels{out, args, 0};
  levels.signal(phase::within_nodes, tree_signals_up);
  if (levels.is_leader()) levels.between(operation::barrier, 0, false, {});
  levels.signal(phase::within_nodes_again, tree_signals_down);
}

}  // namespace weft::coll
