// SPDX-License-Identifier: BSD-3-Clause
// Alltoall of Bruck, Ho, Kipnis, Upfal and Weathersby (1997): a block for the d-th rank above moves by the bits of d:
// in round k all blocks whose d has bit k go to the rank 2^k above, in one message.
//
// The block that has to move by d, or has come by the lower bits of d, waits where the block of the d-th rank below
// will be in the output, so that all are in their places in the end (as in Träff, Rougier and Hunold, 2014). Local
// copies run one after the other, as the one thread would that runs them.
//
// Cost, n ranks, m bytes a block: ceil(log2 n) rounds, n ceil(log2 n) messages; each block moves as often as its d has
// bits, for powers of two n (n / 2) log2 n m bytes. Each rank holds two messages of each direction, about 2 n m.
#include <algorithm>
#include <array>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/blocks.hpp"

namespace weft::coll {

namespace {

// The memory in which the block of distance `d` waits.
part waiting_block(const collective_args& args, std::uint32_t d) {
  return block_of(location::output, args, {}, rank_below(args, d));
}

// Brings all blocks to where they wait. In place, the blocks `d` above and below change places.
step_ref bring_to_waiting(schedule& out, const collective_args& args) {
  const auto above = [&](location buffer, std::uint32_t d) { return block_of(buffer, args, {}, rank_above(args, d)); };
  step_ref last;
  if (!args.is_inplace) {
    for (std::uint32_t d = 0; d < args.size; ++d)
      last = out.copy(above(location::input, d), waiting_block(args, d), {last});
    return last;
  }
  const part scratch = out.scratch(args.block_bytes);
  for (std::uint32_t d = 1; d < args.size - d; ++d) {
    last = out.copy(above(location::output, d), scratch, {last});
    last = out.copy(waiting_block(args, d), above(location::output, d), {last});
    last = out.copy(scratch, waiting_block(args, d), {last});
  }
  return last;
}

// The blocks of all distances with this bit: runs of `bit` distances. The blocks of a run lie together.
std::vector<run_of_blocks> runs_with_bit(const collective_args& args, std::uint32_t bit) {
  std::vector<run_of_blocks> out;
  for (std::uint64_t d = bit; d < args.size; d += 2ULL * bit) {
    const std::uint64_t end = std::min<std::uint64_t>(d + bit, args.size);
    const std::uint32_t lowest = rank_below(args, static_cast<std::uint32_t>(end - 1));
    out.push_back(blocks_from(location::output, args, lowest, static_cast<std::uint32_t>(end - d)));
  }
  return out;
}

}  // namespace

void bruck_alltoall(schedule& out, const collective_args& args) {
  step_ref last = bring_to_waiting(out, args);
  // Two of each, so that the next round need not wait until this round's are free.
  const std::uint64_t message_bytes_max = std::uint64_t{args.size / 2} * args.block_bytes;
  const std::array to_send{out.scratch(message_bytes_max), out.scratch(message_bytes_max)};
  const std::array to_receive{out.scratch(message_bytes_max), out.scratch(message_bytes_max)};
  std::array<step_ref, 2> sent;
  std::array<step_ref, 2> unpacked;
  std::uint32_t now = 0;
  for (std::uint32_t bit = 1; bit < args.size; bit *= 2, now ^= 1) {
    const std::vector<run_of_blocks> runs = runs_with_bit(args, bit);
    std::uint64_t bytes = 0;
    step_ref is_free = sent[now];
    for (const run_of_blocks& each : runs) {
      last = pack(out, each, sub(to_send[now], bytes, each.bytes()), {last, is_free});
      bytes += each.bytes();
      is_free = {};
    }
    sent[now] = out.send(rank_above(args, bit), 0, sub(to_send[now], 0, bytes), {last});
    step_ref is_there = out.receive(rank_below(args, bit), 0, sub(to_receive[now], 0, bytes), {unpacked[now]});
    bytes = 0;
    for (const run_of_blocks& each : runs) {
      last = unpack(out, sub(to_receive[now], bytes, each.bytes()), each, {last, is_there});
      bytes += each.bytes();
      is_there = {};
    }
    unpacked[now] = last;
  }
}

}  // namespace weft::coll
