// SPDX-License-Identifier: BSD-3-Clause
// Scatter: the root sends each rank its block.
//
// Cost, n ranks, m bytes a block: n - 1 rounds, n - 1 messages, (n - 1) m bytes.
#include "coll/algorithms/algorithms.hpp"
#include "coll/blocks.hpp"

namespace weft::coll {

void linear_scatter(schedule& out, const shape& of) {
  const part own{location::out, 0, block_of(location::out, of, of.in_blocks, of.rank).bytes};
  if (of.rank != of.root) {
    if (own.bytes != 0) out.receive(of.root, 0, own);
    return;
  }
  for (std::uint32_t rank = 0; rank < of.size; ++rank) {
    const part from = block_of(location::in, of, of.in_blocks, rank);
    if (rank != of.root && from.bytes != 0) out.send(rank, 0, from);
  }
  if (!of.is_inplace) out.copy(block_of(location::in, of, of.in_blocks, of.root), own);
}

}  // namespace weft::coll
