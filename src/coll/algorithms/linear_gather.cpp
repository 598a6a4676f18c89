// SPDX-License-Identifier: BSD-3-Clause
// Gather: each rank sends its block to the root.
//
// Cost, n ranks, m bytes a block: n - 1 rounds, n - 1 messages, (n - 1) m bytes.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/blocks.hpp"

namespace weft::coll {

void linear_gather(schedule& out, const collective_args& args) {
  const part own{location::input, 0, block_of(location::input, args, args.out_blocks, args.rank).bytes};
  if (args.rank != args.root) {
    if (own.bytes != 0) out.send(args.root, 0, own);
    return;
  }
  for (std::uint32_t rank = 0; rank < args.size; ++rank) {
    const part into = block_of(location::output, args, args.out_blocks, rank);
    if (rank != args.root && into.bytes != 0) out.receive(rank, 0, into);
  }
  if (!args.is_inplace) out.copy(own, block_of(location::output, args, args.out_blocks, args.root));
}

}  // namespace weft::coll
