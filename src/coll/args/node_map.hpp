// SPDX-License-Identifier: BSD-3-Clause
// The nodes of a group's members, for algorithms that go within nodes and between them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::coll {

/// Nodes are numbered from 0 on in the order of their lowest members.
class node_map {
 public:
  /// `by_member`: any number for each node. **Errors**: std::bad_alloc.
  explicit node_map(std::span<const std::uint32_t> by_member);

  [[nodiscard]] std::uint32_t nodes() const noexcept { return static_cast<std::uint32_t>(begin_.size() - 1); }
  [[nodiscard]] std::uint32_t node_of(std::uint32_t member) const noexcept { return node_of_[member]; }
  /// The members of a node, in ascending order.
  [[nodiscard]] std::span<const std::uint32_t> members_of(std::uint32_t node) const noexcept {
    return std::span{members_}.subspan(begin_[node], begin_[node + 1] - begin_[node]);
  }
  /// Whether there are several nodes, and one of them has several members.
  [[nodiscard]] bool has_two_levels() const noexcept { return nodes() > 1 && nodes() < node_of_.size(); }
  /// Whether the members of each node have consecutive numbers.
  [[nodiscard]] bool are_in_order() const noexcept { return are_in_order_; }
  /// The number of members of the largest node, and of the smallest.
  [[nodiscard]] std::uint32_t members_max() const noexcept { return members_max_; }
  [[nodiscard]] std::uint32_t members_min() const noexcept { return members_min_; }

 private:
  std::vector<std::uint32_t> node_of_;
  std::vector<std::uint32_t> members_;  // sorted by node
  std::vector<std::uint32_t> begin_;    // the begin of each node's, in `members_`
  bool are_in_order_ = true;
  std::uint32_t members_max_ = 0;
  std::uint32_t members_min_ = 0;
};

}  // namespace weft::coll
