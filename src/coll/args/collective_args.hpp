// SPDX-License-Identifier: BSD-3-Clause
// A collective, as one rank of the group sees it: all that an algorithm knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/collectives.hpp"

namespace weft::coll {

class node_map;

// The input and the output of each operation:
//   barrier         none
//   broadcast       input: the root's bytes; output: these bytes at the others
//   reduce          input: `block_bytes`; output: as much at the root. In place: the root's input is in its output
//   allreduce       input: `block_bytes`; output: as much. In place: the input is in the output
//   gather          input: this rank's block; output: all blocks at the root. In place: the root's block is in its
//                   output
//   scatter         input: all blocks at the root; output: this rank's block. In place: the root's block stays in its
//                   input
//   allgather       input: this rank's block; output: all blocks. In place: this rank's block is in the output
//   alltoall        input: a block for each rank; output: a block of each rank. In place: the output has both, with
//                   `out_blocks`
//   reduce_scatter  input: a block for each rank; output: this rank's block, reduced. In place: the output has all
//                   blocks of the input, and the result at its begin; the rest may be changed
//   scan            input: `block_bytes`; output: reduced over ranks 0 to this one. In place: the input is in the
//   output exscan          input: `block_bytes`; output: reduced over the ranks below; nothing at rank 0. In place: as
//   scan
using operation = collective_operation;

[[nodiscard]] constexpr bool is_reduction(operation which) noexcept {
  return which == operation::reduce || which == operation::allreduce || which == operation::reduce_scatter ||
         which == operation::scan || which == operation::exscan;
}

/// Blocks of different sizes, by rank. Empty: all have `collective_args::block_bytes`, one behind the other.
struct block_list {
  std::span<const std::uint64_t> bytes{};
  std::span<const std::uint64_t> offsets{};
};

struct collective_args {
  coll::operation operation = coll::operation::barrier;
  std::uint32_t rank = 0;  // this member's number in the group
  std::uint32_t size = 1;
  std::uint32_t root = 0;
  std::uint64_t block_bytes = 0;        // each rank's block has so many, which are whole elements
  std::uint64_t element_bytes = 1;      // every cut is between elements
  std::uint64_t segment_bytes = 32768;  // pipelines cut blocks into segments of about so many
  bool is_commutative = true;
  /// The input, or a part of it, is in the output already, as the operation says, and there is no input. Barrier and
  /// broadcast have no such form.
  bool is_inplace = false;
  block_list in_blocks{};   // alltoall and scatter have them
  block_list out_blocks{};  // gather, allgather and alltoall have them; for reduce_scatter, the blocks of the input
  /// Ranks of the job are more than its processors. It concerns the choice of an algorithm alone.
  bool is_oversubscribed = false;
  /// Gather and scatter: the root has a list. The others may do without; `block_bytes` is then of their own block.
  bool root_has_list = false;
  /// The nodes of the members; null if they all are on one, or each is alone on its own. The group's.
  const node_map* nodes = nullptr;
};

}  // namespace weft::coll
