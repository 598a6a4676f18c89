// SPDX-License-Identifier: BSD-3-Clause
// Barrier at rank 0: all others signal it, and it signals them. Each of the others waits for one message alone, which
// is best where ranks share cores.
//
// Cost, n ranks: 2 (n - 1) rounds, 2 (n - 1) messages of no bytes.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

void linear_barrier(schedule& out, const collective_args& args) {
  constexpr std::uint32_t to_root = 0, from_root = 1;
  if (args.rank != 0) {
    out.send(0, to_root, {});
    out.receive(0, from_root, {});
    return;
  }
  step_ref last;
  for (std::uint32_t rank = 1; rank < args.size; ++rank) last = out.receive(rank, to_root, {}, {last});
  for (std::uint32_t rank = 1; rank < args.size; ++rank) out.send(rank, from_root, {}, {last});
}

}  // namespace weft::coll
