// SPDX-License-Identifier: BSD-3-Clause
// Gather: each rank sends its block to the root.
//
// Cost, n ranks, m bytes a block: n - 1 rounds, n - 1 messages, (n - 1) m bytes.
#include "coll/algorithms/algorithms.hpp"
#include "coll/blocks.hpp"

namespace weft::coll {

void linear_gather(schedule& out, const shape& of) {
  const part own{location::in, 0, block_of(location::in, of, of.out_blocks, of.rank).bytes};
  if (of.rank != of.root) {
    if (own.bytes != 0) out.send(of.root, 0, own);
    return;
  }
  for (std::uint32_t rank = 0; rank < of.size; ++rank) {
    const part into = block_of(location::out, of, of.out_blocks, rank);
    if (rank != of.root && into.bytes != 0) out.receive(rank, 0, into);
  }
  if (!of.is_inplace) out.copy(own, block_of(location::out, of, of.out_blocks, of.root));
}

}  // namespace weft::coll
