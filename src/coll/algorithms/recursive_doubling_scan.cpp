// SPDX-License-Identifier: BSD-3-Clause
// Scan by recursive doubling (Kogge and Stone, 1973; Hillis and Steele, 1986): in round k each rank sends its result so
// far, over itself and 2^k - 1 ranks below, to the rank 2^k above. Operands stay in the order of ranks.
//
// Cost, n ranks, m bytes: ceil(log2 n) rounds; in round k n - 2^k messages, for powers of two n log2 n - (n - 1); as
// many times m bytes. Each rank reduces at most ceil(log2 n) times and holds 2 m.
#include <array>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

void recursive_doubling_scan(schedule& out, const collective_args& args) {
  const part result{location::output, 0, args.block_bytes};
  const std::array below{out.scratch(args.block_bytes), out.scratch(args.block_bytes)};
  std::array<step_ref, 2> is_free;
  step_ref last;
  if (!args.is_inplace) last = out.copy({location::input, 0, args.block_bytes}, result);
  std::uint32_t now = 0;
  for (std::uint32_t distance = 1; distance < args.size; distance *= 2, now ^= 1) {
    step_ref sent;
    if (args.rank + distance < args.size) sent = out.send(args.rank + distance, 0, result, {last});
    if (args.rank < distance) continue;
    const step_ref received = out.receive(args.rank - distance, 0, below[now], {is_free[now]});
    last = out.reduce(below[now], result, {last, sent, received});
    is_free[now] = last;
  }
}

}  // namespace weft::coll
