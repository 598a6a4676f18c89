// SPDX-License-Identifier: BSD-3-Clause
// Allgather by recursive doubling: in round k, ranks that differ in bit k exchange the 2^k blocks that each has.
//
// Cost, n = 2^d ranks, m bytes a block: log2 n rounds, n log2 n messages, n (n - 1) m bytes; each rank sends (n - 1) m.
#include <bit>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/blocks.hpp"

namespace weft::coll {

void recursive_doubling_allgather(schedule& out, const collective_args& args) {
  const auto blocks = [&](std::uint32_t first, std::uint32_t count) {
    return part{location::output, first * args.block_bytes, count * args.block_bytes};
  };
  const part own = args.is_inplace ? blocks(args.rank, 1) : part{location::input, 0, args.block_bytes};
  step_ref copied;
  if (!args.is_inplace) copied = out.copy(own, blocks(args.rank, 1));
  std::vector<step_ref> received;
  for (std::uint32_t bit = 1; bit < args.size; bit *= 2) {
    const std::uint32_t peer = args.rank ^ bit;
    const std::uint32_t mine = args.rank & ~(bit - 1);
    if (bit == 1) {
      out.send(peer, 0, own);
    } else {
      const step_ref sent = out.send(peer, 0, blocks(mine, bit), {copied});
      for (const step_ref each : received) out.add_edge(each, sent);
    }
    received.push_back(out.receive(peer, 0, blocks(mine ^ bit, bit)));
  }
}

bool can_recursive_doubling_allgather(const collective_args& args) {
  return std::has_single_bit(args.size) && has_equal_blocks(args);
}

}  // namespace weft::coll
