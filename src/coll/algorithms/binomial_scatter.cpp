// SPDX-License-Identifier: BSD-3-Clause
// Scatter along a binomial tree: each rank receives its block and those of the ranks above it from the rank without its
// lowest bit, then sends them on, the most first. Ranks count from the root.
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

void scatter_at_root(schedule& out, const collective_args& args) {
  for (std::uint32_t child = std::bit_ceil(args.size) / 2; child != 0; child /= 2) {
    const std::uint32_t rank = rank_of_relative(args, child);
    const run_of_blocks from = blocks_from(location::input, args, rank, std::min(child, args.size - child));
    if (from.rest.bytes == 0) {
      out.send(rank, 0, from.first);
    } else {
      const part scratch = out.scratch(from.bytes());
      const step_ref packed = pack(out, from, scratch);
      out.send(rank, 0, scratch, {packed});
    }
  }
  if (!args.is_inplace)
    out.copy(block_of(location::input, args, {}, args.root), {location::output, 0, args.block_bytes});
}

}  // namespace

void binomial_scatter(schedule& out, const collective_args& args) {
  const std::uint32_t mine = relative_rank(args);
  if (mine == 0) return scatter_at_root(out, args);
  const part own{location::output, 0, args.block_bytes};
  const std::uint32_t lowest = mine & -mine;
  const std::uint32_t parent = rank_of_relative(args, mine - lowest);
  const std::uint32_t blocks = std::min(lowest, args.size - mine);
  if (blocks == 1) {
    out.receive(parent, 0, own);
    return;
  }
  const part scratch = out.scratch(blocks * args.block_bytes);
  const step_ref received = out.receive(parent, 0, scratch);
  for (std::uint32_t bit = std::bit_ceil(blocks) / 2; bit != 0; bit /= 2) {
    const part from = sub(scratch, bit * args.block_bytes, std::min(bit, blocks - bit) * args.block_bytes);
    out.send(rank_of_relative(args, mine + bit), 0, from, {received});
  }
  out.copy(sub(scratch, 0, args.block_bytes), own, {received});
}

}  // namespace weft::coll
