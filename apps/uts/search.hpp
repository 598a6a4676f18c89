// SPDX-License-Identifier: BSD-3-Clause
// Counting a tree by all ranks of a job: fibers walk, and steal from other ranks when theirs has nothing left
// (dang2016, 4.3.4).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include <weft/weft.hpp>

#include "uts/tree.hpp"

namespace weft_uts {

struct search_options {
  tree_options tree;
  std::uint32_t workers = 1;  ///< threads of each rank
  std::uint32_t fibers = 1;   ///< that walk, of each worker
  std::uint32_t chunk = 32;   ///< nodes that are stolen at a time, at most
  /// A rank that has visited more of them drops its work: all ranks end, with more nodes than this in the counts.
  std::uint64_t nodes_max = ~std::uint64_t{0};
};

struct search_result {
  tree_counts counts;  ///< of the whole tree, at each rank
  double seconds = 0;
  std::uint64_t steals = 0;          ///< of all ranks: that gave something
  std::uint64_t steals_in_vain = 0;  ///< of all ranks: that gave nothing
};

/// Collective. `tell` is called now and then at each rank, with the nodes that it has counted so far.
[[nodiscard]] search_result count_tree(weft::runtime& rt, const search_options& options,
                                       const std::function<void(std::uint64_t)>& tell);

/// The search by one thread and nothing of Weft, to compare with.
[[nodiscard]] search_result count_alone(const search_options& options);

}  // namespace weft_uts
