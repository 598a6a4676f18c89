// SPDX-License-Identifier: BSD-3-Clause
// Scan along a chain: each rank receives the result of the rank below, reduces, and sends its own to the rank above.
//
// Cost, n ranks, m bytes: n - 1 rounds, n - 1 messages, (n - 1) m bytes; each rank reduces once and holds m.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

void linear_scan(schedule& out, const collective_args& args) {
  const part result{location::output, 0, args.block_bytes};
  step_ref last;
  if (!args.is_inplace) last = out.copy({location::input, 0, args.block_bytes}, result);
  if (args.rank != 0) {
    const part below = out.scratch(args.block_bytes);
    const step_ref received = out.receive(args.rank - 1, 0, below);
    last = out.reduce(below, result, {last, received});
  }
  if (args.rank + 1 != args.size) out.send(args.rank + 1, 0, result, {last});
}

}  // namespace weft::coll
