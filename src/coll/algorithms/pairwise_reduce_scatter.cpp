// Reduce-scatter by pairs: in round k each rank sends its input for the rank k above that, and receives its own block's
// from the rank k below. For an operation that is not commutative it keeps all that it receives, and reduces in the
// order of ranks.
//
// Cost, n ranks, blocks of b bytes: n - 1 rounds, n (n - 1) messages, n (n - 1) b bytes; a rank sends (n - 1) b, and
// holds 2 b, or n b if the operation is not commutative.
#include <array>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/ranks.hpp"
#include "coll/schedule.hpp"

namespace weft::coll {

namespace {

// As messages come, from the nearest rank below on. **Returns** the last step.
step_ref reduce_as_received(schedule& out, const shape& of, part own, part sum) {
  const std::array memory{out.temporary(sum.bytes), out.temporary(sum.bytes)};
  std::array<step_ref, 2> used{};
  step_ref last;
  for (std::uint32_t round = 1; round < of.size; ++round) {
    const std::uint32_t from = (of.rank + of.size - round) % of.size;
    if (round == 1) {
      last = out.reduce(own, sum, {out.receive(from, 0, sum)});
      continue;
    }
    const part theirs = memory[round % 2];
    const step_ref received = out.receive(from, 0, theirs, {used[round % 2]});
    last = used[round % 2] = out.reduce(theirs, sum, {last, received});
  }
  return last;
}

// From the highest rank down. **Returns** the last step.
step_ref reduce_in_order(schedule& out, const shape& of, part own, part sum) {
  std::vector<part> operands(of.size, own);
  std::vector<step_ref> received(of.size);
  for (std::uint32_t round = 1; round < of.size; ++round) {
    const std::uint32_t from = (of.rank + of.size - round) % of.size;
    operands[from] = from + 1 == of.size ? sum : out.temporary(sum.bytes);
    received[from] = out.receive(from, 0, operands[from]);
  }
  step_ref last = received.back();
  if (of.rank + 1 == of.size) last = out.copy(own, sum);
  for (std::uint32_t rank = of.size - 1; rank-- > 0;) last = out.reduce(operands[rank], sum, {last, received[rank]});
  return last;
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
  const bool in_order = !of.is_commutative || of.size == 1;
  const step_ref last = in_order ? reduce_in_order(out, of, own, sum) : reduce_as_received(out, of, own, sum);
  if (!of.is_inplace) return;
  const step_ref copied = out.copy(sum, result, {last});
  for (const step_ref each : sent) out.add_edge(each, copied);
}

}  // namespace weft::coll
