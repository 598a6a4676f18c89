// SPDX-License-Identifier: BSD-3-Clause
// Parts of algorithms on two levels, in which a leader of each node takes part for its members.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coll/args/collective_args.hpp"
#include "coll/levels/phases.hpp"
#include "coll/schedule/algorithm.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

/// One rank's view of its node and of the leaders. The root leads its node, and the lowest member each other node.
class two_levels {
 public:
  /// `root`: as in `collective_args`. **Errors**: std::bad_alloc.
  two_levels(schedule& out, const collective_args& args, std::uint32_t root);

  [[nodiscard]] bool is_leader() const noexcept { return leaders_[node_] == args_.rank; }
  /// Whether this rank is alone on its node.
  [[nodiscard]] bool is_alone() const noexcept { return near_.size() == 1; }
  /// The members of this rank's node.
  [[nodiscard]] std::span<const std::uint32_t> near() const noexcept { return near_; }

  /// Adds a phase among the members of this rank's node: `which`, with the leader as root, by the algorithm that the
  /// rules choose. `is_inplace`: as in `collective_args`. **Errors**: std::bad_alloc.
  void within(phase now, operation which, std::uint64_t block_bytes, bool is_inplace, const phases::buffers& buffers);
  /// Adds a phase within the node that moves no bytes. If the root is rank 0, the leader has rank 0 in it.
  void signal(phase now, algorithm_function which);
  /// Adds a phase among the leaders, of which this rank is one: `which`, with the leader of the root's node as root.
  /// `blocks`: of leaders; empty if they are equal.
  void between(operation which, std::uint64_t block_bytes, bool is_inplace, const phases::buffers& buffers,
               const block_list& blocks = {});

 private:
  [[nodiscard]] collective_args args_within(operation which, std::uint64_t block_bytes, bool is_inplace) const;

  const collective_args& args_;
  phases phases_;
  std::span<const std::uint32_t> near_;
  std::vector<std::uint32_t> leaders_;  // the index is a node
  std::uint32_t node_;
  std::uint32_t root_node_;
};

}  // namespace weft::coll
