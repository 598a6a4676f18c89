// SPDX-License-Identifier: BSD-3-Clause
#include "coll/args/node_map.hpp"

#include <algorithm>
#include <unordered_map>

namespace weft::coll {

node_map::node_map(std::span<const std::uint32_t> by_member) : begin_{0} {
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  for (const std::uint32_t each : by_member) {
    const auto [found, is_new] = numbers.try_emplace(each, static_cast<std::uint32_t>(numbers.size()));
    if (is_new) begin_.push_back(0);
    node_of_.push_back(found->second);
    ++begin_[found->second + 1];
  }
  if (!by_member.empty()) {
    members_max_ = *std::max_element(begin_.begin() + 1, begin_.end());
    members_min_ = *std::min_element(begin_.begin() + 1, begin_.end());
  }
  // Nodes are numbered by their lowest members.
  are_in_order_ = std::ranges::is_sorted(node_of_);
  for (std::size_t node = 1; node < begin_.size(); ++node) begin_[node] += begin_[node - 1];
  members_.resize(node_of_.size());
  std::vector<std::uint32_t> next{begin_.begin(), begin_.end() - 1};
  for (std::uint32_t member = 0; member < node_of_.size(); ++member) members_[next[node_of_[member]]++] = member;
}

}  // namespace weft::coll
