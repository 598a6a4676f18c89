// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by pairs: in round k each rank sends its input for the rank k above that, and receives its own block's
// from the rank k below. It reduces the blocks of the ranks below and those of the ranks above apart, each from the
// highest one down, so that operands stay in the order of ranks.
//
// Cost, n ranks, blocks of b bytes: n - 1 rounds, n (n - 1) messages, n (n - 1) b bytes; a rank sends (n - 1) b, and
// holds 3 b, or 4 b in place.
#include <array>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/ranks.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

namespace {

// Reduces the blocks of the ranks below and of this one in `sum`, and those of the ranks above in memory of their own
// until the end. **Returns** the last step.
step_ref reduce_as_received(schedule& out, const collective_args& args, part own, part sum) {
  if (args.size == 1) return out.copy(own, sum);
  const bool has_below = args.rank != 0, has_above = args.rank + 1 != args.size;
  const part above = has_below && has_above ? out.scratch(sum.bytes) : sum;
  const std::array memory{out.scratch(sum.bytes), out.scratch(sum.bytes)};
  std::array<step_ref, 2> used{};
  step_ref last, last_above;
  for (std::uint32_t round = 1; round < args.size; ++round) {
    const std::uint32_t from = (args.rank + args.size - round) % args.size;
    const bool is_below = from < args.rank;
    step_ref& now = is_below ? last : last_above;
    const part into = is_below ? sum : above;
    if (round == 1 || from + 1 == args.size) {
      now = out.receive(from, 0, into);
      if (is_below) now = out.reduce_into_lower(own, sum, {now});
      continue;
    }
    const part theirs = memory[round % 2];
    const step_ref received = out.receive(from, 0, theirs, {used[round % 2]});
    now = used[round % 2] = out.reduce(theirs, into, {now, received});
  }
  if (!has_below) return out.reduce(own, sum, {last_above});
  return has_above ? out.reduce_into_lower(above, sum, {last, last_above}) : last;
}

}  // namespace

void pairwise_reduce_scatter(schedule& out, const collective_args& args) {
  const location input = args.is_inplace ? location::output : location::input;
  const part own = block_of(input, args, args.out_blocks, args.rank), result{location::output, 0, own.bytes};
  std::vector<step_ref> sent;
  for (std::uint32_t round = 1; round < args.size; ++round) {
    const std::uint32_t to = (args.rank + round) % args.size;
    sent.push_back(out.send(to, 0, block_of(input, args, args.out_blocks, to)));
  }
  const part sum = args.is_inplace ? out.scratch(own.bytes) : result;
  const step_ref last = reduce_as_received(out, args, own, sum);
  if (!args.is_inplace) return;
  const step_ref copied = out.copy(sum, result, {last});
  for (const step_ref each : sent) out.add_edge(each, copied);
}

}  // namespace weft::coll
