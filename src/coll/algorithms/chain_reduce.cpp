// SPDX-License-Identifier: BSD-3-Clause
// Reduce along a chain of ranks that ends at the root, in segments, so that all links are busy. The ranks are in order
// only if the root is rank 0.
//
// Cost, n ranks, m bytes in s segments: n + s - 2 rounds, (n - 1) s messages, (n - 1) m bytes; a rank sends m, and
// holds at most 4 segments.
#include <array>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/ranks.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

bool can_chain_reduce(const collective_args& args) { return args.is_commutative || args.root == 0; }

void chain_reduce(schedule& out, const collective_args& args) {
  constexpr std::uint32_t window = 4;
  const std::uint32_t mine = relative_rank(args), segments = segments_of(args);
  const bool inplace = mine == 0 && args.is_inplace;
  const part whole{inplace ? location::output : location::input, 0, args.block_bytes};
  const bool has_above = mine + 1 < args.size;
  // The root receives into the memory of the result, if that is free.
  const bool needs_memory = has_above && (mine != 0 || inplace);
  const std::uint64_t longest = piece_of(whole, args.element_bytes, 0, segments).bytes;
  std::array<part, window> memory{};
  std::array<step_ref, window> used{};
  for (std::uint32_t i = 0; i < window && i < segments && needs_memory; ++i) memory[i] = out.scratch(longest);
  for (std::uint32_t i = 0; i < segments; ++i) {
    part segment = piece_of(whole, args.element_bytes, i, segments);
    const part result{location::output, segment.offset, segment.bytes};
    step_ref last;
    if (has_above) {
      const part own = segment;
      const part theirs = needs_memory ? sub(memory[i % window], 0, own.bytes) : result;
      const step_ref received = out.receive(rank_of_relative(args, mine + 1), i, theirs, {used[i % window]});
      segment = inplace ? own : theirs;
      last = inplace ? out.reduce_into_lower(theirs, own, {received}) : out.reduce(own, theirs, {received});
    }
    if (mine != 0) {
      last = out.send(rank_of_relative(args, mine - 1), i, segment, {last});
    } else if (segment.location != location::output) {
      last = out.copy(segment, result, {last});
    }
    used[i % window] = last;
  }
}

}  // namespace weft::coll
