// SPDX-License-Identifier: BSD-3-Clause
// Allgather around a ring: each rank sends its block to the rank above, then each block that it has received from the
// rank below.
//
// Cost, n ranks, m bytes a block: n - 1 rounds, n (n - 1) messages, n (n - 1) m bytes; each rank sends (n - 1) m.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/blocks.hpp"

namespace weft::coll {

void ring_allgather(schedule& out, const collective_args& args) {
  const auto block = [&](std::uint32_t rank) { return block_of(location::output, args, args.out_blocks, rank); };
  part from = block(args.rank);
  if (!args.is_inplace) {
    const part own{location::input, 0, from.bytes};
    out.copy(own, from);
    from = own;
  }
  step_ref received;
  for (std::uint32_t round = 0; round + 1 < args.size; ++round) {
    if (from.bytes != 0) out.send(rank_above(args, 1), round, from, {received});
    const part into = block(rank_below(args, round + 1));
    if (into.bytes != 0) received = out.receive(rank_below(args, 1), round, into);
    from = into;
  }
}

// A label for each round.
bool can_ring_allgather(const collective_args& args) { return args.size <= schedule::labels_max; }

}  // namespace weft::coll
