// SPDX-License-Identifier: BSD-3-Clause
// Allreduce at rank 0: all others send it their input, in the order of ranks, and it sends them the result. Each of the
// others waits for one message alone, which is best where ranks share cores.
//
// Cost, n ranks, m bytes: 2 (n - 1) rounds, 2 (n - 1) messages, 2 (n - 1) m bytes; rank 0 reduces n - 1 times.
#include "coll/accumulator.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/ordered.hpp"

namespace weft::coll {

void linear_allreduce(schedule& out, const shape& of) {
  constexpr std::uint32_t to_root = 0, from_root = 1;
  ordered steps{out};
  const range all{0, of.block_bytes};
  const part result{location::out, 0, of.block_bytes};
  const part own{of.is_inplace ? location::out : location::in, 0, of.block_bytes};
  if (of.rank != 0) {
    steps.send(0, to_root, own);
    steps.receive(0, from_root, result);
    return;
  }
  accumulator sum{steps, {own, of.is_inplace, result}};
  for (std::uint32_t rank = 1; rank < of.size; ++rank) sum.receive(rank, to_root, all, false);
  sum.finish(all, all);
  for (std::uint32_t rank = 1; rank < of.size; ++rank) steps.send(rank, from_root, result);
}

}  // namespace weft::coll
