// SPDX-License-Identifier: BSD-3-Clause
// Scatter: the root sends each rank its block.
//
// Cost, n ranks, m bytes a block: n - 1 rounds, n - 1 messages, (n - 1) m bytes.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/blocks.hpp"

namespace weft::coll {

void linear_scatter(schedule& out, const collective_args& args) {
  const part own{location::output, 0, block_of(location::output, args, args.in_blocks, args.rank).bytes};
  if (args.rank != args.root) {
    if (own.bytes != 0) out.receive(args.root, 0, own);
    return;
  }
  for (std::uint32_t rank = 0; rank < args.size; ++rank) {
    const part from = block_of(location::input, args, args.in_blocks, rank);
    if (rank != args.root && from.bytes != 0) out.send(rank, 0, from);
  }
  if (!args.is_inplace) out.copy(block_of(location::input, args, args.in_blocks, args.root), own);
}

}  // namespace weft::coll
