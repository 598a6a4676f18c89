// SPDX-License-Identifier: BSD-3-Clause
#include "coll/schedule/halving.hpp"

namespace weft::coll {

std::vector<range> halve(accumulator& sum, const fold& group, const collective_args& args, std::uint32_t label) {
  const std::uint32_t member = group.member_of(args.rank);
  std::vector<range> out{{0, args.block_bytes}};
  for (std::uint32_t bit = 1; bit < group.members(); bit *= 2) {
    const range whole = out.back();
    const std::uint64_t lower_bytes = whole.bytes / args.element_bytes / 2 * args.element_bytes;
    const range lower{whole.begin, lower_bytes}, upper{whole.begin + lower_bytes, whole.bytes - lower_bytes};
    const bool keeps_upper = (member & bit) != 0;
    const std::uint32_t peer = group.leader_of(member ^ bit);
    sum.send(peer, label, keeps_upper ? lower : upper);
    out.push_back(keeps_upper ? upper : lower);
    sum.receive(peer, label, out.back(), keeps_upper);
  }
  return out;
}

}  // namespace weft::coll
