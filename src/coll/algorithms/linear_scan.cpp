// SPDX-License-Identifier: BSD-3-Clause
// Scan along a chain: each rank receives the result of the rank below, reduces, and sends its own to the rank above.
//
// Cost, n ranks, m bytes: n - 1 rounds, n - 1 messages, (n - 1) m bytes; each rank reduces once and holds m.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule.hpp"

namespace weft::coll {

void linear_scan(schedule& out, const shape& of) {
  const part result{location::out, 0, of.block_bytes};
  step_ref last;
  if (!of.is_inplace) last = out.copy({location::in, 0, of.block_bytes}, result);
  if (of.rank != 0) {
    const part below = out.temporary(of.block_bytes);
    const step_ref received = out.receive(of.rank - 1, 0, below);
    last = out.reduce(below, result, {last, received});
  }
  if (of.rank + 1 != of.size) out.send(of.rank + 1, 0, result, {last});
}

}  // namespace weft::coll
