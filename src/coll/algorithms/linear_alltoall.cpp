// SPDX-License-Identifier: BSD-3-Clause
// Alltoall: all messages at once, each rank to the ranks above it first. In place, the blocks to be sent are copied to
// scratch memory.
//
// Cost, n ranks, m bytes a block: n - 1 rounds, n (n - 1) messages, n (n - 1) m bytes; in place each rank holds
// (n - 1) m.
#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/blocks.hpp"

namespace weft::coll {

void linear_alltoall(schedule& out, const collective_args& args) {
  const auto in_block = [&](std::uint32_t rank) { return block_of(location::input, args, args.in_blocks, rank); };
  const auto out_block = [&](std::uint32_t rank) { return block_of(location::output, args, args.out_blocks, rank); };
  if (!args.is_inplace) out.copy(in_block(args.rank), out_block(args.rank));
  // The step after which the block of a rank may be written, in place.
  std::vector<step_ref> copied(args.is_inplace ? args.size : 0);
  for (std::uint32_t distance = 1; args.is_inplace && distance < args.size; ++distance) {
    const std::uint32_t to = rank_above(args, distance);
    const part from = out_block(to);
    if (from.bytes == 0) continue;
    const part scratch = out.scratch(from.bytes);
    copied[to] = out.copy(from, scratch);
    out.send(to, 0, scratch, {copied[to]});
  }
  for (std::uint32_t distance = 1; distance < args.size; ++distance) {
    const std::uint32_t to = rank_above(args, distance);
    const std::uint32_t source = rank_below(args, distance);
    if (!args.is_inplace && in_block(to).bytes != 0) out.send(to, 0, in_block(to));
    const step_ref before = args.is_inplace ? copied[source] : step_ref{};
    if (out_block(source).bytes != 0) out.receive(source, 0, out_block(source), {before});
  }
}

}  // namespace weft::coll
