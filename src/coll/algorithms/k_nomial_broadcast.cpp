// SPDX-License-Identifier: BSD-3-Clause
// Broadcast along a tree of radix 4: each rank receives from the rank without its lowest digit, then sends to the ranks
// with one more digit below that, the farthest first. It is less deep than the binomial tree, and each rank sends more.
//
// Cost, n ranks, m bytes: 3 log4 n rounds for powers of 4 (and at most 3 ceil(log4 n)), n - 1 messages, (n - 1) m
// bytes; the root sends as many messages as there are rounds.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/ranks.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

void k_nomial_broadcast(schedule& out, const collective_args& args) {
  constexpr std::uint32_t radix = 4;
  const std::uint32_t mine = relative_rank(args);
  const part from{mine == 0 ? location::input : location::output, 0, args.block_bytes};
  std::uint64_t weight = 1;  // the weight of the lowest digit
  while (weight < args.size && mine / weight % radix == 0) weight *= radix;
  step_ref received;
  if (mine != 0) {
    const auto parent = static_cast<std::uint32_t>(mine - mine / weight % radix * weight);
    received = out.receive(rank_of_relative(args, parent), 0, from);
  }
  for (weight /= radix; weight != 0; weight /= radix) {
    for (std::uint32_t digit = 1; digit < radix; ++digit) {
      const std::uint64_t child = mine + digit * weight;
      if (child < args.size) out.send(rank_of_relative(args, static_cast<std::uint32_t>(child)), 0, from, {received});
    }
  }
}

}  // namespace weft::coll
