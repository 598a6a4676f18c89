// SPDX-License-Identifier: BSD-3-Clause
// Broadcast by the root, which sends to all others. None waits for more than one message, which is best where ranks
// share cores, and each reads long data from the root.
//
// Cost, n ranks, m bytes: 1 round, n - 1 messages, (n - 1) m bytes; the root sends them all.
#include "coll/algorithms/algorithms.hpp"
#include "coll/ranks.hpp"
#include "coll/schedule.hpp"

namespace weft::coll {

void linear_broadcast(schedule& out, const shape& of) {
  if (of.rank != of.root) {
    out.receive(of.root, 0, {location::out, 0, of.block_bytes});
    return;
  }
  for (std::uint32_t each = 1; each < of.size; ++each)
    out.send(rank_of_relative(of, each), 0, {location::in, 0, of.block_bytes});
}

}  // namespace weft::coll
