// SPDX-License-Identifier: BSD-3-Clause
// Reduce of Rabenseifner: recursive halving reduces a part of the value at each member, and a binomial tree, the same
// rounds backwards, gathers the parts at the root. It works for operations that are not commutative, too. In its pair
// (`fold`) the root leads.
//
// Cost, n ranks, 2^k the largest power of two that is no more, r = n - 2^k, m bytes: 2 k rounds, and 1 more if r > 0;
// 2^k (k + 1) - 1 + r messages; (2^k - 1 + k / 2 + r) m bytes; a rank sends at most (3 / 2 - 2^-k) m.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/halving.hpp"
#include "coll/schedule/ordered.hpp"

namespace weft::coll {

void rabenseifner_reduce(schedule& out, const collective_args& args) {
  constexpr std::uint32_t reducing = 0, gathering = 1;
  ordered steps{out};
  const range all{0, args.block_bytes};
  const bool is_root = args.rank == args.root, inplace = is_root && args.is_inplace;
  const part own{inplace ? location::output : location::input, 0, args.block_bytes};
  const part result{location::output, 0, args.block_bytes};
  const fold group{args.size, args.root};
  const std::uint32_t member = group.member_of(args.rank), root = group.member_of(args.root);
  if (group.leader_of(member) != args.rank) {
    steps.send(group.leader_of(member), reducing, own);
    return;
  }
  accumulator sum{steps, {own, inplace, is_root ? result : part{}}};
  if (group.is_pair(member)) {
    const std::uint32_t follower = group.follower_of(member);
    sum.receive(follower, reducing, all, follower < args.rank);
  }
  const std::vector<range> ranges = halve(sum, group, args, reducing);
  if (is_root) sum.finish(ranges.back(), all);
  std::size_t round = ranges.size() - 1;
  for (std::uint32_t bit = group.members() / 2; bit != 0; bit /= 2, --round) {
    const range mine = ranges[round], both = ranges[round - 1];
    const bool has_upper = (member & bit) != 0;
    const std::uint32_t peer = group.leader_of(member ^ bit);
    if ((member & bit) != (root & bit)) {
      sum.send(peer, gathering, mine);
      return;
    }
    const range theirs{has_upper ? both.begin : mine.begin + mine.bytes, both.bytes - mine.bytes};
    sum.finish(mine, all);
    steps.receive(peer, gathering, sum.result(theirs, all));
  }
}

}  // namespace weft::coll
