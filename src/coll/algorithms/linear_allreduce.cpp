// SPDX-License-Identifier: BSD-3-Clause
// Allreduce at rank 0: all others send it their input, in the order of ranks, and it sends them the result. Each of the
// others waits for one message alone, which is best where ranks share cores.
//
// Cost, n ranks, m bytes: 2 (n - 1) rounds, 2 (n - 1) messages, 2 (n - 1) m bytes; rank 0 reduces n - 1 times.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/accumulator.hpp"
#include "coll/schedule/ordered.hpp"

namespace weft::coll {

void linear_allreduce(schedule& out, const collective_args& args) {
  constexpr std::uint32_t to_root = 0, from_root = 1;
  ordered steps{out};
  const range all{0, args.block_bytes};
  const part result{location::output, 0, args.block_bytes};
  const part own{args.is_inplace ? location::output : location::input, 0, args.block_bytes};
  if (args.rank != 0) {
    steps.send(0, to_root, own);
    steps.receive(0, from_root, result);
    return;
  }
  accumulator sum{steps, {own, args.is_inplace, result}};
  for (std::uint32_t rank = 1; rank < args.size; ++rank) sum.receive(rank, to_root, all, false);
  sum.finish(all, all);
  for (std::uint32_t rank = 1; rank < args.size; ++rank) steps.send(rank, from_root, result);
}

}  // namespace weft::coll
