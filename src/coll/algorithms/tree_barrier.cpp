// SPDX-License-Identifier: BSD-3-Clause
// Barrier along a binomial tree: signals go up to rank 0, and down again. Half the ranks wait for one message alone.
//
// Cost, n ranks: 2 ceil(log2 n) rounds, 2 (n - 1) messages of no bytes.
#include <bit>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

namespace {

constexpr std::uint32_t up = 0, down = 1;

// This rank's lowest bit: its parent has it not, and its children have one more below it.
std::uint32_t lowest_bit(const collective_args& args) noexcept {
  return args.rank == 0 ? std::bit_ceil(args.size) : args.rank & -args.rank;
}

}  // namespace

void tree_signals_up(schedule& out, const collective_args& args) {
  const std::uint32_t lowest = lowest_bit(args);
  step_ref last;
  for (std::uint32_t bit = 1; bit < lowest; bit *= 2) {
    if (args.rank + bit < args.size) last = out.receive(args.rank + bit, up, {}, {last});
  }
  if (args.rank != 0) out.send(args.rank - lowest, up, {}, {last});
}

void tree_signals_down(schedule& out, const collective_args& args) {
  const std::uint32_t lowest = lowest_bit(args);
  // The last step of rank 0 before it; the others wait for their parent alone.
  step_ref last{args.rank == 0 && !out.steps().empty() ? static_cast<std::uint32_t>(out.steps().size() - 1)
                                                       : step_ref::none};
  if (args.rank != 0) last = out.receive(args.rank - lowest, down, {});
  for (std::uint32_t bit = lowest / 2; bit != 0; bit /= 2) {
    if (args.rank + bit < args.size) out.send(args.rank + bit, down, {}, {last});
  }
}

void tree_barrier(schedule& out, const collective_args& args) {
  tree_signals_up(out, args);
  tree_signals_down(out, args);
}

}  // namespace weft::coll
