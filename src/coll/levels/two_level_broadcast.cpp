// SPDX-License-Identifier: BSD-3-Clause
// Broadcast on two levels: from the root to a leader of each node, then within each node.
//
// Cost, N nodes of at most q ranks, m bytes: rounds of a broadcast among N ranks and of one among q; (N - 1) m bytes
// between nodes, and (n - N) m within them. The algorithm of each phase is the one that the rules choose.
#include "coll/algorithms/algorithms.hpp"
#include "coll/levels/two_level.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

void two_level_broadcast(schedule& out, const collective_args& args) {
  two_levels levels{out, args, args.root};
  const part all{location::output, 0, args.block_bytes};
  const part from{args.rank == args.root ? location::input : location::output, 0, args.block_bytes};
  if (levels.is_leader()) levels.between(operation::broadcast, args.block_bytes, false, {from, all});
  levels.within(phase::within_nodes_again, operation::broadcast, args.block_bytes, false, {from, all});
}

}  // namespace weft::coll
