// SPDX-License-Identifier: BSD-3-Clause
// Broadcast along a binomial tree: each rank receives from the rank without its lowest bit, then sends to the ranks
// with one more bit below that, the farthest first.
//
// Cost, n ranks, m bytes: ceil(log2 n) rounds, n - 1 messages, (n - 1) m bytes; the root sends ceil(log2 n) m.
#include <algorithm>
#include <bit>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/ranks.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

void binomial_broadcast(schedule& out, const collective_args& args) {
  const std::uint32_t mine = relative_rank(args);
  const std::uint64_t bytes = args.block_bytes;
  const part from{mine == 0 ? location::input : location::output, 0, bytes};
  const std::uint32_t width = std::bit_ceil(args.size);
  const std::uint32_t lowest = mine == 0 ? width : mine & -mine;
  step_ref received;
  if (mine != 0) received = out.receive(rank_of_relative(args, mine - lowest), 0, {location::output, 0, bytes});
  for (std::uint32_t bit = lowest / 2; bit != 0; bit /= 2) {
    if (mine + bit < args.size) out.send(rank_of_relative(args, mine + bit), 0, from, {received});
  }
}

}  // namespace weft::coll
