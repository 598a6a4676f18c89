// SPDX-License-Identifier: BSD-3-Clause
// Broadcast along a chain of ranks from the root on, in segments, so that all links are busy.
//
// Cost, n ranks, m bytes in s segments: n + s - 2 rounds, (n - 1) s messages, (n - 1) m bytes; a rank sends m.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/ranks.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

void chain_broadcast(schedule& out, const collective_args& args) {
  const std::uint32_t mine = relative_rank(args), segments = segments_of(args);
  const part whole{mine == 0 ? location::input : location::output, 0, args.block_bytes};
  for (std::uint32_t i = 0; i < segments; ++i) {
    const part segment = piece_of(whole, args.element_bytes, i, segments);
    step_ref received;
    if (mine != 0) received = out.receive(rank_of_relative(args, mine - 1), i, segment);
    if (mine + 1 < args.size) out.send(rank_of_relative(args, mine + 1), i, segment, {received});
  }
}

}  // namespace weft::coll
