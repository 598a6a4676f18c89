// SPDX-License-Identifier: BSD-3-Clause
// Nodes for groups of tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "coll/args/node_map.hpp"

namespace weft::coll::test {

/// Nodes of `each` members in a row; the last may have fewer.
[[nodiscard]] inline node_map nodes_of(std::uint32_t size, std::uint32_t each) {
  std::vector<std::uint32_t> by_member(size);
  for (std::uint32_t member = 0; member < size; ++member) by_member[member] = member / each;
  return node_map{by_member};
}

/// Up to `size` nodes of different sizes; their members are in a row or anywhere.
[[nodiscard]] inline node_map random_nodes(std::uint32_t size, std::mt19937& random) {
  const std::uint32_t nodes = 1 + static_cast<std::uint32_t>(random() % size);
  std::vector<std::uint32_t> by_member(size);
  for (std::uint32_t& each : by_member) each = 7 * static_cast<std::uint32_t>(random() % nodes);
  if (random() % 2 == 0) std::ranges::sort(by_member);
  return node_map{by_member};
}

}  // namespace weft::coll::test
