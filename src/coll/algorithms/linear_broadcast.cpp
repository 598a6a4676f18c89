// SPDX-License-Identifier: BSD-3-Clause
// Broadcast by the root, which sends to all others. None waits for more than one message, which is best where ranks
// share cores, and each reads long data from the root.
//
// Cost, n ranks, m bytes: 1 round, n - 1 messages, (n - 1) m bytes; the root sends them all.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/ranks.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

void linear_broadcast(schedule& out, const collective_args& args) {
  if (args.rank != args.root) {
    out.receive(args.root, 0, {location::output, 0, args.block_bytes});
    return;
  }
  for (std::uint32_t each = 1; each < args.size; ++each)
    out.send(rank_of_relative(args, each), 0, {location::input, 0, args.block_bytes});
}

}  // namespace weft::coll
