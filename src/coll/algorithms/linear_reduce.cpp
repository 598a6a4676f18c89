// SPDX-License-Identifier: BSD-3-Clause
// Reduce at the root, to which all others send: first those above it, then those below it, each from the nearest on.
//
// Cost, n ranks, m bytes: n - 1 rounds, n - 1 messages, (n - 1) m bytes; the root reduces n - 1 times.
#include "coll/accumulator.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/ordered.hpp"

namespace weft::coll {

void linear_reduce(schedule& out, const shape& of) {
  ordered steps{out};
  const range all{0, of.block_bytes};
  if (of.rank != of.root) {
    steps.send(of.root, 0, {location::in, 0, of.block_bytes});
    return;
  }
  const part result{location::out, 0, of.block_bytes};
  const part own{of.is_inplace ? location::out : location::in, 0, of.block_bytes};
  accumulator sum{steps, {own, of.is_inplace, result}};
  for (std::uint32_t rank = of.root + 1; rank < of.size; ++rank) sum.receive(rank, 0, all, false);
  for (std::uint32_t rank = of.root; rank-- > 0;) sum.receive(rank, 0, all, true);
  sum.finish(all, all);
}

}  // namespace weft::coll
