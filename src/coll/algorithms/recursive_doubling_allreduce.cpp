// SPDX-License-Identifier: BSD-3-Clause
// Allreduce by recursive doubling: in round k each member exchanges its value so far with the member 2^k away, and both
// reduce. Both operands are in the order of ranks. Of two ranks that are one member (`fold`), one sends its input to
// the other, and gets the result.
//
// Cost, n ranks, 2^k the largest power of two that is no more, r = n - 2^k, m bytes: k rounds, and 2 more if r > 0;
// 2^k k + 2 r messages, as many times m bytes; a rank sends k m, and m more in a pair.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/accumulator.hpp"
#include "coll/schedule/fold.hpp"
#include "coll/schedule/ordered.hpp"

namespace weft::coll {

void recursive_doubling_allreduce(schedule& out, const collective_args& args) {
  constexpr std::uint32_t exchange = 0, result_of_pair = 1;
  ordered steps{out};
  const range all{0, args.block_bytes};
  const part own{args.is_inplace ? location::output : location::input, 0, args.block_bytes};
  const part result{location::output, 0, args.block_bytes};
  const fold group{args.size};
  const std::uint32_t member = group.member_of(args.rank);
  if (group.leader_of(member) != args.rank) {
    steps.send(group.leader_of(member), exchange, own);
    steps.receive(group.leader_of(member), result_of_pair, result);
    return;
  }
  accumulator sum{steps, {own, args.is_inplace, result}};
  if (group.is_pair(member)) sum.receive(group.follower_of(member), exchange, all, false);
  for (std::uint32_t bit = 1; bit < group.members(); bit *= 2) {
    const std::uint32_t peer = group.leader_of(member ^ bit);
    sum.send(peer, exchange, all);
    sum.receive(peer, exchange, all, peer < args.rank);
  }
  sum.finish(all, all);
  if (group.is_pair(member)) sum.send(group.follower_of(member), result_of_pair, all);
}

}  // namespace weft::coll
