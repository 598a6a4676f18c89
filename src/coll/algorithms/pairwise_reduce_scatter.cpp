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
#include "coll/ranks.hpp"
#include "coll/schedule.hpp"

namespace weft::coll {

namespace {

// Of the ranks below and this one in `sum`, of those above in memory of their own until the end. **Returns** the last
// step.
step_ref reduce_as_received(schedule& out, const shape& of, part own, part sum) {
  if (of.size == 1) return out.copy(own, sum);
  const bool has_below = of.rank != 0, has_above = of.rank + 1 != of.size;
  const part above = has_below && has_above ? out.temporary(sum.bytes) : sum;
  const std::array memory{out.temporary(sum.bytes), out.temporary(sum.bytes)};
  std::array<step_ref, 2> used{};
  step_ref last, last_above;
  for (std::uint32_t round = 1; round < of.size; ++round) {
    const std::uint32_t from = (of.rank + of.size - round) % of.size;
    const bool is_below = from < of.rank;
    step_ref& now = is_below ? last : last_above;
    const part into = is_below ? sum : above;
    if (round == 1 || from + 1 == of.size) {
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

void pairwise_reduce_scatter(schedule& out, const shape& of) {
  const location input = of.is_inplace ? location::out : location::in;
  const part own = block_of(input, of, of.out_blocks, of.rank), result{location::out, 0, own.bytes};
  std::vector<step_ref> sent;
  for (std::uint32_t round = 1; round < of.size; ++round) {
    const std::uint32_t to = (of.rank + round) % of.size;
    sent.push_back(out.send(to, 0, block_of(input, of, of.out_blocks, to)));
  }
  const part sum = of.is_inplace ? out.temporary(own.bytes) : result;
  const step_ref last = reduce_as_received(out, of, own, sum);
  if (!of.is_inplace) return;
  const step_ref copied = out.copy(sum, result, {last});
  for (const step_ref each : sent) out.add_edge(each, copied);
}

}  // namespace weft::coll
