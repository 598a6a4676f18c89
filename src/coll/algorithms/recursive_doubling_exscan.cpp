// SPDX-License-Identifier: BSD-3-Clause
// Exscan by recursive doubling (Kogge and Stone, 1973): as the scan, but each rank has two results so far: over the
// 2^k - 1 ranks below, its own; and over itself and these, which it sends to the rank 2^k above. Operands stay in the
// order of ranks.
//
// Cost, n ranks, m bytes: ceil(log2 n) rounds; in round k n - 2^k messages, for powers of two n log2 n - (n - 1); as
// many times m bytes. Each rank reduces at most 2 (ceil(log2 n) - 1) times and holds 3 m.
#include <array>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

void recursive_doubling_exscan(schedule& out, const collective_args& args) {
  const part result{location::output, 0, args.block_bytes};
  const part own{args.is_inplace ? location::output : location::input, 0, args.block_bytes};
  const auto has_above = [&](std::uint64_t distance) { return args.rank + distance < args.size; };
  if (args.rank == 0) {
    for (std::uint32_t distance = 1; has_above(distance); distance *= 2) out.send(distance, 0, own);
    return;
  }
  const part with_own = out.scratch(args.block_bytes);
  const std::array below{out.scratch(args.block_bytes), out.scratch(args.block_bytes)};
  step_ref with_own_last = has_above(1) ? out.copy(own, with_own) : step_ref{};
  step_ref result_last;
  std::array<step_ref, 2> is_free;
  std::uint32_t now = 0;
  for (std::uint32_t distance = 1; distance < args.size; distance *= 2, now ^= 1) {
    const bool is_first = distance == 1;
    step_ref sent;
    if (has_above(distance)) sent = out.send(args.rank + distance, 0, with_own, {with_own_last});
    if (args.rank < distance) continue;
    const part into = is_first ? result : below[now];
    // The first result replaces the input if the exscan is in place.
    const step_ref writable = is_first && args.is_inplace ? with_own_last : is_free[now];
    const step_ref received = out.receive(args.rank - distance, 0, into, {writable});
    if (has_above(2ULL * distance)) with_own_last = out.reduce(into, with_own, {with_own_last, sent, received});
    if (is_first) {
      result_last = received;
      continue;
    }
    result_last = out.reduce(into, result, {result_last, with_own_last, received});
    is_free[now] = result_last;
  }
}

}  // namespace weft::coll
