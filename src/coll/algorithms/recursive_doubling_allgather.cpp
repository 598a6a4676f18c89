// SPDX-License-Identifier: BSD-3-Clause
// Allgather by recursive doubling: in round k, ranks that differ in bit k exchange the 2^k blocks that each has.
//
// Cost, n = 2^d ranks, m bytes a block: log2 n rounds, n log2 n messages, n (n - 1) m bytes; each rank sends (n - 1) m.
#include <bit>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/blocks.hpp"

namespace weft::coll {

void recursive_doubling_allgather(schedule& out, const shape& of) {
  const auto blocks = [&](std::uint32_t first, std::uint32_t count) {
    return part{location::out, first * of.block_bytes, count * of.block_bytes};
  };
  const part own = of.is_inplace ? blocks(of.rank, 1) : part{location::in, 0, of.block_bytes};
  step_ref copied;
  if (!of.is_inplace) copied = out.copy(own, blocks(of.rank, 1));
  std::vector<step_ref> received;
  for (std::uint32_t bit = 1; bit < of.size; bit *= 2) {
    const std::uint32_t peer = of.rank ^ bit;
    const std::uint32_t mine = of.rank & ~(bit - 1);
    if (bit == 1) {
      out.send(peer, 0, own);
    } else {
      const step_ref sent = out.send(peer, 0, blocks(mine, bit), {copied});
      for (const step_ref each : received) out.add_edge(each, sent);
    }
    received.push_back(out.receive(peer, 0, blocks(mine ^ bit, bit)));
  }
}

bool can_recursive_doubling_allgather(const shape& of) { return std::has_single_bit(of.size) && has_equal_blocks(of); }

}  // namespace weft::coll
