// SPDX-License-Identifier: BSD-3-Clause
// Allreduce around a ring (Patarasu and Yuan, 2009): n pieces go round once, and each rank reduces its own into them;
// in the order of ranks from the first one of the piece on; then the results go round. No rank sends more than about
// twice the data, however many they are.
//
// Cost, n ranks, m bytes: 2 (n - 1) rounds, 2 n (n - 1) messages, 2 (n - 1) m bytes; a rank sends 2 (1 - 1/n) m.
#include <array>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/ranks.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

bool can_ring_allreduce(const collective_args& args) {
  return args.is_commutative && args.size <= schedule::labels_max / 2;
}

void ring_allreduce(schedule& out, const collective_args& args) {
  const std::uint32_t n = args.size, next = (args.rank + 1) % n, previous = (args.rank + n - 1) % n;
  const auto piece = [&](location buffer, std::uint32_t rounds_ago) {
    return piece_of({buffer, 0, args.block_bytes}, args.element_bytes, (args.rank + 2 * n - rounds_ago) % n, n);
  };
  if (n == 1) {
    if (!args.is_inplace) out.copy(piece(location::input, 0), piece(location::output, 0));
    return;
  }
  // Pieces are received into the memory of the result, if that is free.
  std::array<part, 2> memory{};
  std::array<step_ref, 2> used{};
  if (args.is_inplace) {
    for (part& each : memory) each = out.scratch(piece_of({{}, 0, args.block_bytes}, args.element_bytes, 0, n).bytes);
  }
  std::vector<step_ref> sent(n);  // the send of each piece, as `piece` counts
  sent[0] = out.send(next, 0, piece(args.is_inplace ? location::output : location::input, 0));
  step_ref reduced;
  for (std::uint32_t round = 1; round < n; ++round) {
    const part result = piece(location::output, round);
    if (args.is_inplace) {
      const part theirs = sub(memory[round % 2], 0, result.bytes);
      const step_ref received = out.receive(previous, round - 1, theirs, {used[round % 2]});
      reduced = used[round % 2] = out.reduce(theirs, result, {received});
    } else {
      const step_ref received = out.receive(previous, round - 1, result);
      reduced = out.reduce_into_lower(piece(location::input, round), result, {received});
    }
    sent[round] = out.send(next, round, result, {reduced});  // the last round sends the first result
  }
  for (std::uint32_t round = 0; round + 1 < n; ++round) {
    const part result = piece(location::output, round);
    const step_ref received = out.receive(previous, n - 1 + round, result, {sent[round]});
    if (round + 2 < n) out.send(next, n + round, result, {received});
  }
}

}  // namespace weft::coll
