// SPDX-License-Identifier: BSD-3-Clause
// Gather along a binomial tree: a rank without its lowest bit receives the blocks of the ranks above it, and sends them
// and its own in one message. Ranks count from the root.
//
// Cost, n ranks, m bytes a block: ceil(log2 n) rounds, n - 1 messages; each block moves as often as its rank has bits,
// for powers of two (n / 2) log2 n m bytes. A rank with b ranks above it holds b + 1 blocks; the root holds the blocks
// that go around the end.
#include <algorithm>
#include <bit>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/blocks.hpp"

namespace weft::coll {

namespace {

void gather_at_root(schedule& out, const collective_args& args) {
  for (std::uint32_t child = 1; child < args.size; child *= 2) {
    const std::uint32_t rank = rank_of_relative(args, child);
    const run_of_blocks into = blocks_from(location::output, args, rank, std::min(child, args.size - child));
    if (into.rest.bytes == 0) {
      out.receive(rank, 0, into.first);
    } else {
      const part scratch = out.scratch(into.bytes());
      const step_ref received = out.receive(rank, 0, scratch);
      unpack(out, scratch, into, {received});
    }
  }
  if (!args.is_inplace)
    out.copy({location::input, 0, args.block_bytes}, block_of(location::output, args, {}, args.root));
}

}  // namespace

void binomial_gather(schedule& out, const collective_args& args) {
  const std::uint32_t mine = relative_rank(args);
  if (mine == 0) return gather_at_root(out, args);
  const part own{location::input, 0, args.block_bytes};
  const std::uint32_t lowest = mine & -mine;
  const std::uint32_t parent = rank_of_relative(args, mine - lowest);
  const std::uint32_t blocks = std::min(lowest, args.size - mine);
  if (blocks == 1) {
    out.send(parent, 0, own);
    return;
  }
  const part scratch = out.scratch(blocks * args.block_bytes);
  const step_ref first = out.copy(own, sub(scratch, 0, args.block_bytes));
  step_ref last = first;
  for (std::uint32_t bit = 1; bit < blocks; bit *= 2) {
    const part into = sub(scratch, bit * args.block_bytes, std::min(bit, blocks - bit) * args.block_bytes);
    last = out.receive(rank_of_relative(args, mine + bit), 0, into);
  }
  const step_ref sent = out.send(parent, 0, scratch);
  for (std::uint32_t each = first.index; each <= last.index; ++each) out.add_edge({each}, sent);
}

}  // namespace weft::coll
