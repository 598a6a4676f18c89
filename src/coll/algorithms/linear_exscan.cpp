// SPDX-License-Identifier: BSD-3-Clause
// Exscan along a chain: each rank receives its result from the rank below, and sends it, reduced with its own input, to
// the rank above.
//
// Cost, n ranks, m bytes: n - 1 rounds, n - 1 messages, (n - 1) m bytes; each rank reduces once and holds m.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

void linear_exscan(schedule& out, const collective_args& args) {
  const part result{location::output, 0, args.block_bytes};
  const part own{args.is_inplace ? location::output : location::input, 0, args.block_bytes};
  const bool is_last = args.rank + 1 == args.size;
  if (args.rank == 0) {
    if (!is_last) out.send(1, 0, own);
    return;
  }
  const part next = is_last ? part{} : out.scratch(args.block_bytes);
  const step_ref copied = is_last ? step_ref{} : out.copy(own, next);
  // The result replaces the input if the exscan is in place.
  const step_ref received = out.receive(args.rank - 1, 0, result, {args.is_inplace ? copied : step_ref{}});
  if (is_last) return;
  const step_ref reduced = out.reduce(result, next, {copied, received});
  out.send(args.rank + 1, 0, next, {reduced});
}

}  // namespace weft::coll
