// SPDX-License-Identifier: BSD-3-Clause
// Alltoall of Bruck, Ho, Kipnis, Upfal and Weathersby (1997): a block for the d-th rank above moves by the bits of d:
// in round k all blocks whose d has bit k go to the rank 2^k above, in one message.
//
// The block that has to move by d, or has come by the lower bits of d, waits where the block of the d-th rank below
// will be in `out`, so that all are in their places in the end (as in Träff, Rougier and Hunold, 2014). Local copies
// run one after the other, as the one thread would that runs them.
//
// Cost, n ranks, m bytes a block: ceil(log2 n) rounds, n ceil(log2 n) messages; each block moves as often as its d has
// bits, for powers of two n (n / 2) log2 n m bytes. Each rank holds two messages of each direction, about 2 n m.
#include <algorithm>
#include <array>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/blocks.hpp"

namespace weft::coll {

namespace {

// Where the block of distance `d` waits.
part waiting_block(const shape& of, std::uint32_t d) { return block_of(location::out, of, {}, rank_below(of, d)); }

// Brings all blocks to where they wait. In place, the blocks `d` above and below change places.
step_ref bring_to_waiting(schedule& out, const shape& of) {
  const auto above = [&](location at, std::uint32_t d) { return block_of(at, of, {}, rank_above(of, d)); };
  step_ref last;
  if (!of.is_inplace) {
    for (std::uint32_t d = 0; d < of.size; ++d) last = out.copy(above(location::in, d), waiting_block(of, d), {last});
    return last;
  }
  const part held = out.temporary(of.block_bytes);
  for (std::uint32_t d = 1; d < of.size - d; ++d) {
    last = out.copy(above(location::out, d), held, {last});
    last = out.copy(waiting_block(of, d), above(location::out, d), {last});
    last = out.copy(held, waiting_block(of, d), {last});
  }
  return last;
}

// The blocks of all distances with this bit: runs of `bit` distances. The blocks of a run lie together.
std::vector<run_of_blocks> runs_with_bit(const shape& of, std::uint32_t bit) {
  std::vector<run_of_blocks> out;
  for (std::uint64_t d = bit; d < of.size; d += 2ULL * bit) {
    const std::uint64_t end = std::min<std::uint64_t>(d + bit, of.size);
    const std::uint32_t lowest = rank_below(of, static_cast<std::uint32_t>(end - 1));
    out.push_back(blocks_from(location::out, of, lowest, static_cast<std::uint32_t>(end - d)));
  }
  return out;
}

}  // namespace

void bruck_alltoall(schedule& out, const shape& of) {
  step_ref last = bring_to_waiting(out, of);
  // Two of each, so that the next round need not wait until this round's are free.
  const std::uint64_t message_bytes_max = std::uint64_t{of.size / 2} * of.block_bytes;
  const std::array to_send{out.temporary(message_bytes_max), out.temporary(message_bytes_max)};
  const std::array to_receive{out.temporary(message_bytes_max), out.temporary(message_bytes_max)};
  std::array<step_ref, 2> sent;
  std::array<step_ref, 2> unpacked;
  std::uint32_t now = 0;
  for (std::uint32_t bit = 1; bit < of.size; bit *= 2, now ^= 1) {
    const std::vector<run_of_blocks> runs = runs_with_bit(of, bit);
    std::uint64_t bytes = 0;
    step_ref is_free = sent[now];
    for (const run_of_blocks& each : runs) {
      last = pack(out, each, sub(to_send[now], bytes, each.bytes()), {last, is_free});
      bytes += each.bytes();
      is_free = {};
    }
    sent[now] = out.send(rank_above(of, bit), 0, sub(to_send[now], 0, bytes), {last});
    step_ref is_there = out.receive(rank_below(of, bit), 0, sub(to_receive[now], 0, bytes), {unpacked[now]});
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
