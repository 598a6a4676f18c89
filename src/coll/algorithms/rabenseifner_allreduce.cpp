// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of Rabenseifner (Thakur, Rabenseifner and Gropp, 2005): recursive halving reduces a part of the value at
// each member, and recursive doubling, the same rounds backwards, brings the parts to all. It works for operations that
// are not commutative, too: the first exchange is with the nearest member.
//
// Cost, n ranks, 2^k the largest power of two that is no more, r = n - 2^k, m bytes: 2 k rounds, and 2 more if r > 0;
// 2 (2^k k + r) messages; 2 (2^k - 1 + r) m bytes; a rank sends 2 (1 - 2^-k) m, and m more in a pair.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/halving.hpp"
#include "coll/schedule/ordered.hpp"

namespace weft::coll {

void rabenseifner_allreduce(schedule& out, const collective_args& args) {
  constexpr std::uint32_t reducing = 0, gathering = 1;
  ordered steps{out};
  const range all{0, args.block_bytes};
  const part own{args.is_inplace ? location::output : location::input, 0, args.block_bytes};
  const part result{location::output, 0, args.block_bytes};
  const fold group{args.size};
  const std::uint32_t member = group.member_of(args.rank);
  if (group.leader_of(member) != args.rank) {
    steps.send(group.leader_of(member), reducing, own);
    steps.receive(group.leader_of(member), gathering, result);
    return;
  }
  accumulator sum{steps, {own, args.is_inplace, result}};
  if (group.is_pair(member)) sum.receive(group.follower_of(member), reducing, all, false);
  const std::vector<range> ranges = halve(sum, group, args, reducing);
  sum.finish(ranges.back(), all);
  std::size_t round = ranges.size() - 1;
  for (std::uint32_t bit = group.members() / 2; bit != 0; bit /= 2, --round) {
    const range mine = ranges[round], both = ranges[round - 1];
    const bool has_upper = (member & bit) != 0;
    const range theirs{has_upper ? both.begin : mine.begin + mine.bytes, both.bytes - mine.bytes};
    const std::uint32_t peer = group.leader_of(member ^ bit);
    steps.send(peer, gathering, sum.result(mine, all));
    steps.receive(peer, gathering, sum.result(theirs, all));
  }
  if (group.is_pair(member)) steps.send(group.follower_of(member), gathering, result);
}

}  // namespace weft::coll
