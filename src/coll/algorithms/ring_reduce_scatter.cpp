// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter around a ring: each block goes round once, from the rank above its own to that, and each rank reduces
// its input into it, in the order of ranks from the block's next rank on.
//
// Cost, n ranks, blocks of b bytes: n - 1 rounds, n (n - 1) messages, n (n - 1) b bytes; a rank sends (n - 1) b, and
// holds 2 b.
#include <algorithm>
#include <array>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/ranks.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

bool can_ring_reduce_scatter(const collective_args& args) {
  return args.is_commutative && args.size <= schedule::labels_max;
}

void ring_reduce_scatter(schedule& out, const collective_args& args) {
  const std::uint32_t n = args.size, next = (args.rank + 1) % n, previous = (args.rank + n - 1) % n;
  const auto block = [&](std::uint32_t rank) {
    return block_of(args.is_inplace ? location::output : location::input, args, args.out_blocks, rank);
  };
  const part result{location::output, 0, block(args.rank).bytes};
  std::uint64_t longest = 0;
  for (std::uint32_t rank = 0; rank < n; ++rank) longest = std::max(longest, block(rank).bytes);
  const std::array memory{out.scratch(longest), out.scratch(longest)};
  std::array<step_ref, 2> used{};
  std::vector<step_ref> input_readers;
  part sum = block(previous);
  step_ref last;
  for (std::uint32_t round = 0; round + 1 < n; ++round) {
    const step_ref sent = out.send(next, round, sum, {last});
    if (round == 0) input_readers.push_back(sent);
    if (round != 0) used[(round - 1) % 2] = sent;
    const part own = block((args.rank + 2 * n - 2 - round) % n);
    const bool is_last = round + 2 == n;
    sum = is_last && !args.is_inplace ? result : sub(memory[round % 2], 0, own.bytes);
    last = out.reduce_into_lower(own, sum, {out.receive(previous, round, sum, {used[round % 2]})});
    input_readers.push_back(last);
  }
  if (n > 1 && !args.is_inplace) return;
  if (n == 1 && args.is_inplace) {
    last = out.copy(sum, sub(memory[0], 0, sum.bytes));
    sum = sub(memory[0], 0, sum.bytes);
  }
  const step_ref copied = out.copy(sum, result, {last});
  for (const step_ref each : input_readers) {
    if (each.index != last.index) out.add_edge(each, copied);
  }
}

}  // namespace weft::coll
