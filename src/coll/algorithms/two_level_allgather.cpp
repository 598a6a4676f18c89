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
#include "coll/blocks.hpp"
#include "coll/node_map.hpp"
#include "coll/schedule.hpp"
#include "coll/two_level.hpp"

namespace weft::coll {

bool can_two_level_allgather(const shape& of) {
  return has_two_levels(of) && of.nodes->are_in_order() && has_equal_blocks(of);
}

void two_level_allgather(schedule& out, const shape& of) {
  two_levels levels{out, of, 0};
  const part all{location::out, 0, of.size * of.block_bytes};
  const part own{of.is_inplace ? location::out : location::in, of.is_inplace ? of.rank * of.block_bytes : 0,
                 of.block_bytes};
  const part of_node{location::out, levels.near().front() * of.block_bytes, levels.near().size() * of.block_bytes};
  levels.within(phase::within_nodes, operation::gather, of.block_bytes, levels.is_leader() && of.is_inplace,
                {own, of_node});
  if (levels.is_leader()) {
    std::vector<std::uint64_t> bytes, offsets;
    if (of.nodes->members_min() != of.nodes->members_max()) {
      for (std::uint32_t node = 0; node < of.nodes->nodes(); ++node) {
        bytes.push_back(of.nodes->members_of(node).size() * of.block_bytes);
        offsets.push_back(of.nodes->members_of(node).front() * of.block_bytes);
      }
    }
    levels.between(operation::allgather, of.nodes->members_max() * of.block_bytes, true, {all, all}, {bytes, offsets});
  }
  levels.within(phase::within_nodes_again, operation::broadcast, all.bytes, false, {all, all});
}

}  // namespace weft::coll
