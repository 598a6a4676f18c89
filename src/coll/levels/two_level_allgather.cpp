// SPDX-License-Identifier: BSD-3-Clause
// Allgather on two levels: the blocks of each node are gathered at its leader, the leaders have an allgather of these,
// and broadcast all blocks within their nodes. The members of a node have consecutive ranks, and all blocks one size,
// so that the blocks of a node lie together.
//
// Cost, N nodes of at most q ranks, m bytes a block: rounds of a gather among q ranks, an allgather among N, and a
// broadcast among q. Between nodes (N - 1) n m bytes; within them (n - N) n m, and the gathers. The algorithm of each
// phase is the one that the rules choose.
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/args/node_map.hpp"
#include "coll/levels/two_level.hpp"
#include "coll/schedule/blocks.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

bool can_two_level_allgather(const collective_args& args) {
  return has_two_levels(args) && args.nodes->are_in_order() && has_equal_blocks(args);
}

void two_level_allgather(schedule& out, const collective_args& args) {
  two_levels levels{out, args, 0};
  const part all{location::output, 0, args.size * args.block_bytes};
  const part own{args.is_inplace ? location::output : location::input,
                 args.is_inplace ? args.rank * args.block_bytes : 0, args.block_bytes};
  const part node_blocks{location::output, levels.near().front() * args.block_bytes,
                         levels.near().size() * args.block_bytes};
  levels.within(phase::within_nodes, operation::gather, args.block_bytes, levels.is_leader() && args.is_inplace,
                {own, node_blocks});
  if (levels.is_leader()) {
    std::vector<std::uint64_t> bytes, offsets;
    if (args.nodes->members_min() != args.nodes->members_max()) {
      for (std::uint32_t node = 0; node < args.nodes->nodes(); ++node) {
        bytes.push_back(args.nodes->members_of(node).size() * args.block_bytes);
        offsets.push_back(args.nodes->members_of(node).front() * args.block_bytes);
      }
    }
    levels.between(operation::allgather, args.nodes->members_max() * args.block_bytes, true, {all, all},
                   {bytes, offsets});
  }
  levels.within(phase::within_nodes_again, operation::broadcast, all.bytes, false, {all, all});
}

}  // namespace weft::coll
