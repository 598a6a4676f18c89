// SPDX-License-Identifier: BSD-3-Clause
// Reduce at the root, to which all others send: first those above it, then those below it, each from the nearest on.
//
// Cost, n ranks, m bytes: n - 1 rounds, n - 1 messages, (n - 1) m bytes; the root reduces n - 1 times.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/accumulator.hpp"
#include "coll/schedule/ordered.hpp"

namespace weft::coll {

void linear_reduce(schedule& out, const collective_args& args) {
  ordered steps{out};
  const range all{0, args.block_bytes};
  if (args.rank != args.root) {
    steps.send(args.root, 0, {location::input, 0, args.block_bytes});
    return;
  }
  const part result{location::output, 0, args.block_bytes};
  const part own{args.is_inplace ? location::output : location::input, 0, args.block_bytes};
  accumulator sum{steps, {own, args.is_inplace, result}};
  for (std::uint32_t rank = args.root + 1; rank < args.size; ++rank) sum.receive(rank, 0, all, false);
  for (std::uint32_t rank = args.root; rank-- > 0;) sum.receive(rank, 0, all, true);
  sum.finish(all, all);
}

}  // namespace weft::coll
