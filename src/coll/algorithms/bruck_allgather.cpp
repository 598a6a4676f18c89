// SPDX-License-Identifier: BSD-3-Clause
// Allgather of Bruck, Ho, Kipnis, Upfal and Weathersby (1997): in round k each rank sends all that it has, at most 2^k
// blocks, to the rank 2^k below. A rank has the blocks from its own upwards in scratch memory, and copies them to
// their places.
//
// Cost, n ranks, m bytes a block: ceil(log2 n) rounds, n ceil(log2 n) messages, n (n - 1) m bytes; each rank sends
// (n - 1) m and holds n m.
#include <algorithm>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/blocks.hpp"

namespace weft::coll {

namespace {

// Copies `count` blocks, from `first` above this rank on, to their places.
void copy_to_out(schedule& out, const collective_args& args, part scratch, std::uint32_t first, std::uint32_t count,
                 step_ref received) {
  if (has_equal_blocks(args)) {
    unpack(out, scratch, blocks_from(location::output, args, rank_above(args, first), count), {received});
    return;
  }
  std::uint64_t offset = 0;
  for (std::uint32_t i = first; i < first + count; ++i) {
    const part into = block_of(location::output, args, args.out_blocks, rank_above(args, i));
    if (into.bytes != 0) out.copy(sub(scratch, offset, into.bytes), into, {received});
    offset += into.bytes;
  }
}

}  // namespace

void bruck_allgather(schedule& out, const collective_args& args) {
  // The i-th offset is that of the block of the i-th rank above this one.
  std::vector<std::uint64_t> offsets{0};
  for (std::uint32_t i = 0; i < args.size; ++i)
    offsets.push_back(offsets.back() + block_of(location::output, args, args.out_blocks, rank_above(args, i)).bytes);
  const part scratch = out.scratch(offsets.back());
  const part own_out = block_of(location::output, args, args.out_blocks, args.rank);
  const part own = args.is_inplace ? own_out : part{location::input, 0, own_out.bytes};
  if (!args.is_inplace) out.copy(own, own_out);
  std::vector<step_ref> gathered;
  if (args.size > 2) gathered.push_back(out.copy(own, sub(scratch, 0, own.bytes)));
  for (std::uint32_t has = 1; has < args.size; has *= 2) {
    const std::uint32_t blocks = std::min(has, args.size - has);
    if (has == 1) {
      out.send(rank_below(args, 1), 0, own);
    } else {
      const step_ref sent = out.send(rank_below(args, has), 0, sub(scratch, 0, offsets[blocks]));
      for (const step_ref each : gathered) out.add_edge(each, sent);
    }
    const part into = sub(scratch, offsets[has], offsets[has + blocks] - offsets[has]);
    gathered.push_back(out.receive(rank_above(args, has), 0, into));
    copy_to_out(out, args, into, has, blocks, gathered.back());
  }
}

}  // namespace weft::coll
