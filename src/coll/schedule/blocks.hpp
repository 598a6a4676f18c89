// SPDX-License-Identifier: BSD-3-Clause
// Blocks of ranks: which an algorithm sends, and how it packs blocks that do not lie one behind the other.
//
// The linear and pairwise algorithms send no message for a block of 0 bytes: both ranks know its size.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "coll/args/collective_args.hpp"
#include "coll/schedule/ranks.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

/// Whether all blocks have `block_bytes`, at all ranks. Each rank gets the same answer.
[[nodiscard]] inline bool has_equal_blocks(const collective_args& args) noexcept {
  return args.in_blocks.bytes.empty() && args.out_blocks.bytes.empty() && !args.root_has_list;
}

/// The rank `distance` above this one, or below it, around the end; `distance` <= size.
[[nodiscard]] constexpr std::uint32_t rank_above(const collective_args& args, std::uint32_t distance) noexcept {
  return static_cast<std::uint32_t>((std::uint64_t{args.rank} + distance) % args.size);
}
[[nodiscard]] constexpr std::uint32_t rank_below(const collective_args& args, std::uint32_t distance) noexcept {
  return static_cast<std::uint32_t>((std::uint64_t{args.rank} + args.size - distance) % args.size);
}

/// Equal blocks of consecutive ranks, around the end: `rest` has those from rank 0 on.
struct run_of_blocks {
  part first;
  part rest;

  [[nodiscard]] std::uint64_t bytes() const noexcept { return first.bytes + rest.bytes; }
};
[[nodiscard]] run_of_blocks blocks_from(location buffer, const collective_args& args, std::uint32_t rank,
                                        std::uint32_t count) noexcept;

/// Copies the blocks of a run one behind the other into `into`, or such blocks to the places of a run. **Returns** the
/// last step. **Errors**: std::bad_alloc.
step_ref pack(schedule& out, const run_of_blocks& from, part into, std::initializer_list<step_ref> before = {});
step_ref unpack(schedule& out, part from, const run_of_blocks& into, std::initializer_list<step_ref> before = {});

}  // namespace weft::coll
