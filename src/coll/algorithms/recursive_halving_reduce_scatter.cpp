// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by recursive halving (Thakur, Rabenseifner and Gropp, 2005): in each round a member sends the blocks
// of half the members left to a member of that half, and reduces those of its own half.
//
// The first exchange is with the farthest member, so that blocks stay in order. For an operation that is not
// commutative it is with the nearest, and each member first copies its blocks into the order of their members' bits
// reversed.
//
// Cost, n ranks, 2^k the largest power of two that is no more, r = n - 2^k, blocks of b bytes: k rounds, and 2 more if
// r > 0; 2^k k + 2 r messages; (2^k - 1 + r) n b + r b bytes; a rank sends at most n b (1 - 2^-k) for powers of two.
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule/accumulator.hpp"
#include "coll/schedule/fold.hpp"
#include "coll/schedule/ordered.hpp"
#include "coll/schedule/ranks.hpp"

namespace weft::coll {

namespace {

// The position of a member in the order of blocks, or the member at a position.
std::uint32_t position_of_member(const fold& group, std::uint32_t member, bool is_reversed) {
  if (!is_reversed) return member;
  std::uint32_t out = 0;
  for (std::uint32_t bit = 1; bit < group.members(); bit *= 2) out = 2 * out + ((member & bit) != 0 ? 1 : 0);
  return out;
}

bool lie_one_behind_the_other(const collective_args& args) {
  std::uint64_t end = block_of(location::input, args, args.out_blocks, 0).offset;
  for (std::uint32_t rank = 0; rank < args.size; ++rank) {
    const part each = block_of(location::input, args, args.out_blocks, rank);
    if (each.offset != end) return false;
    end += each.bytes;
  }
  return true;
}

// Calls `each(rank)` for the ranks of a member.
void ranks_of(const fold& group, std::uint32_t member, auto each) {
  each(group.leader_of(member));
  if (group.is_pair(member)) each(group.follower_of(member));
}

}  // namespace

void recursive_halving_reduce_scatter(schedule& out, const collective_args& args) {
  constexpr std::uint32_t reducing = 0, result_of_pair = 1;
  const fold group{args.size};
  const std::uint32_t members = group.members(), member = group.member_of(args.rank);
  const location input = args.is_inplace ? location::output : location::input;
  const auto block = [&](std::uint32_t rank) { return block_of(input, args, args.out_blocks, rank); };
  if (args.size == 1 && args.is_inplace && block(0).offset == 0) return;
  // A copy within the output might overlap in place; with more ranks the result is then in scratch memory.
  const bool is_packed = !args.is_commutative || !lie_one_behind_the_other(args) || (args.size == 1 && args.is_inplace);
  const auto position_of = [&](std::uint32_t each) { return position_of_member(group, each, !args.is_commutative); };
  ordered steps{out};

  // The begins of the blocks of the members, by position.
  std::vector<std::uint64_t> begins{is_packed ? 0 : block(0).offset};
  for (std::uint32_t position = 0; position < members; ++position) {
    std::uint64_t bytes = 0;
    ranks_of(group, position_of(position), [&](std::uint32_t rank) { bytes += block(rank).bytes; });
    begins.push_back(begins.back() + bytes);
  }
  const auto blocks_at = [&](std::uint32_t position, std::uint32_t count) {
    return range{begins[position], begins[position + count] - begins[position]};
  };
  part own{input, 0, begins.back()};
  if (is_packed) {
    own = out.scratch(begins.back());
    for (std::uint32_t position = 0; position < members; ++position) {
      std::uint64_t end = begins[position];
      ranks_of(group, position_of(position), [&](std::uint32_t rank) {
        steps.copy(block(rank), sub(own, end, block(rank).bytes));
        end += block(rank).bytes;
      });
    }
  }

  const range all = blocks_at(0, members);
  const part result{location::output, 0, block(args.rank).bytes};
  if (group.leader_of(member) != args.rank) {
    steps.send(group.leader_of(member), reducing, sub(own, all.begin, all.bytes));
    steps.receive(group.leader_of(member), result_of_pair, result);
    return;
  }
  accumulator sum{steps, {.input = own, .may_write_input = is_packed}};
  if (group.is_pair(member)) sum.receive(group.follower_of(member), reducing, all, false);
  const std::uint32_t mine = position_of(member);
  for (std::uint32_t half = members / 2; half != 0; half /= 2) {
    const std::uint32_t peer = group.leader_of(position_of(mine ^ half));
    sum.send(peer, reducing, blocks_at((mine ^ half) & ~(half - 1), half));
    sum.receive(peer, reducing, blocks_at(mine & ~(half - 1), half), peer < args.rank);
  }
  const range last = blocks_at(mine, 1);
  if (group.is_pair(member)) {
    const range theirs{last.begin + result.bytes, last.bytes - result.bytes};
    sum.send(group.follower_of(member), result_of_pair, theirs);
  }
  steps.copy(sum.value({last.begin, result.bytes}), result);
}

}  // namespace weft::coll
