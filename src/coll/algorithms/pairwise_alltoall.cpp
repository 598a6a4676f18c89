// SPDX-License-Identifier: BSD-3-Clause
// Alltoall by pairwise exchange: one message each way at a time. With a power of two of ranks, those exchange whose
// numbers differ by the round's bits; else a rank sends to the rank `round` above and receives from the one as far
// below. In place, two ranks exchange whose numbers add up to the round's, so that one block of scratch memory is
// enough.
//
// Cost, n ranks, m bytes a block: n - 1 rounds, n (n - 1) messages, n (n - 1) m bytes; in place, if n is not a power of
// two, n rounds (for odd n no rank has a peer in all of them), and each rank holds m.
#include <algorithm>
#include <bit>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/blocks.hpp"

namespace weft::coll {

namespace {

struct peers {
  std::uint32_t to = 0;
  std::uint32_t from = 0;
};

peers peers_in(const collective_args& args, std::uint32_t round) {
  if (std::has_single_bit(args.size)) return {args.rank ^ round, args.rank ^ round};
  if (!args.is_inplace) return {rank_above(args, round), rank_below(args, round)};
  const std::uint32_t other = round >= args.rank ? round - args.rank : round + args.size - args.rank;
  return {other, other};
}

part largest_block(schedule& out, const collective_args& args) {
  if (args.out_blocks.bytes.empty()) return out.scratch(args.block_bytes);
  return out.scratch(std::ranges::max(args.out_blocks.bytes));
}

}  // namespace

void pairwise_alltoall(schedule& out, const collective_args& args) {
  const auto in_block = [&](std::uint32_t rank) { return block_of(location::input, args, args.in_blocks, rank); };
  const auto out_block = [&](std::uint32_t rank) { return block_of(location::output, args, args.out_blocks, rank); };
  if (!args.is_inplace) out.copy(in_block(args.rank), out_block(args.rank));
  const part scratch = args.is_inplace ? largest_block(out, args) : part{};
  step_ref sent;
  step_ref received;
  for (std::uint32_t round = 0; round < args.size; ++round) {
    const auto [to, source] = peers_in(args, round);
    if (to == args.rank) continue;
    part from = in_block(to);
    const part into = out_block(source);
    step_ref copied;
    if (args.is_inplace) {
      from = sub(scratch, 0, into.bytes);
      if (from.bytes != 0) copied = out.copy(into, from, {sent, received});
    }
    const step_ref sent_before = sent;
    if (from.bytes != 0) sent = out.send(to, 0, from, {sent_before, received, copied});
    if (into.bytes != 0) received = out.receive(source, 0, into, {sent_before, received, copied});
  }
}

}  // namespace weft::coll
