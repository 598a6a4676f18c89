// SPDX-License-Identifier: BSD-3-Clause
// The trees of the unbalanced tree search: every node follows from its parent by SHA-1, so any rank can grow any part.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace weft_uts {

enum class tree_type : std::uint8_t { binomial, geometric, hybrid };
/// How the expected number of children changes with the depth, in a geometric tree.
enum class tree_shape : std::uint8_t { linear, exponential, cyclic, fixed };

struct tree_options {
  tree_type type = tree_type::geometric;
  tree_shape shape = tree_shape::linear;
  double root_children = 4;  ///< b0
  std::uint32_t seed = 0;
  std::uint32_t depth = 6;      ///< of a geometric tree, about
  double branching = 0.234375;  ///< q: how likely a node of a binomial tree has children
  std::uint32_t children = 4;   ///< m: how many it has then
  double shift = 0.5;           ///< f: a hybrid tree is geometric above this part of its depth

  friend bool operator==(const tree_options&, const tree_options&) = default;
};

struct node {
  std::array<std::uint8_t, 20> state;
  std::uint32_t depth;
};

/// The nodes of a tree, or of a part of one.
struct tree_counts {
  std::uint64_t nodes = 0;
  std::uint64_t leaves = 0;
  std::uint64_t depth = 0;  ///< the largest

  void add(const tree_counts& other) noexcept {
    nodes += other.nodes;
    leaves += other.leaves;
    depth = other.depth > depth ? other.depth : depth;
  }
  friend bool operator==(const tree_counts&, const tree_counts&) = default;
};

class tree {
 public:
  explicit tree(const tree_options& options);

  [[nodiscard]] node root() const noexcept;
  [[nodiscard]] std::uint32_t children_of(const node& parent) const noexcept;
  [[nodiscard]] static node child_of(const node& parent, std::uint32_t index) noexcept;

 private:
  [[nodiscard]] std::uint32_t geometric_children(const node& parent) const noexcept;
  [[nodiscard]] std::uint32_t binomial_children(const node& parent) const noexcept;

  tree_options options_;
};

/// About how many nodes a tree has, judged by the expected number of children of each node; infinity for a tree that
/// has no expected end, though one seed or another may end it.
[[nodiscard]] double expected_nodes(const tree_options& options) noexcept;

/// Of a tree that is known; null for others.
struct known_tree {
  const char* name;
  tree_options options;
  tree_counts counts;
};
[[nodiscard]] const known_tree* find_known(const tree_options& options) noexcept;

}  // namespace weft_uts
