// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include "base/assertion.hpp"
#include "weft/error.hpp"

namespace weft::core {
namespace {

constexpr std::uint32_t no_node = ~std::uint32_t{0};
// Parts of a value: the number of all members, then some of them.
constexpr std::size_t members_per_value = boot::value_bytes_max / sizeof(std::uint32_t) - 1;

std::string key_of(const std::string& key, std::size_t value) { return fmt::format("{}{}", key, value); }

[[noreturn]] void refuse_list(std::uint32_t rank) {
  throw error{
      errc::boot_failed,
      fmt::format("rank {} published no list of the ranks on its node: do all ranks use the same version of Weft?",
                  rank)};
}

}  // namespace

void nodes::publish(boot::bootstrap& boot, const std::string& name,
                    const std::vector<std::unique_ptr<net::transport>>& transports) {
  const auto sharing = std::ranges::find_if(transports, [](const auto& each) { return each->sharing() != nullptr; });
  node_of_rank_.resize(boot.size());
  if (sharing == transports.end()) return std::iota(node_of_rank_.begin(), node_of_rank_.end(), 0U);
  if ((*sharing)->reaches_all()) return;  // all ranks know that
  std::vector<std::uint32_t> members;
  for (std::uint32_t rank = 0; rank < boot.size(); ++rank) {
    if (rank == boot.rank() || (*sharing)->reaches(rank)) members.push_back(rank);
  }
  publish(boot, name, members);
}

void nodes::publish(boot::bootstrap& boot, const std::string& name, const std::vector<std::uint32_t>& members) {
  WEFT_ASSERT(key_.empty() && !members.empty());
  node_of_rank_.resize(boot.size());
  key_ = name + ".node";
  if (members.front() != boot.rank()) return;
  for (std::size_t first = 0; first < members.size(); first += members_per_value) {
    const auto rest = std::span{members}.subspan(first);
    const auto some = rest.first(std::min(rest.size(), members_per_value));
    std::vector<std::uint32_t> value{static_cast<std::uint32_t>(members.size())};
    value.insert(value.end(), some.begin(), some.end());
    const auto bytes = std::as_bytes(std::span{value});
    boot.put(key_of(key_, first / members_per_value), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

std::vector<std::uint32_t> nodes::members_of(boot::bootstrap& boot, std::uint32_t lowest) const {
  std::vector<std::uint32_t> out;
  for (std::size_t number = 0, all = 1; out.size() < all; ++number) {
    const std::string value = boot.get(lowest, key_of(key_, number));
    std::vector<std::uint32_t> words(value.size() / sizeof(std::uint32_t));
    if (!words.empty()) std::memcpy(words.data(), value.data(), words.size() * sizeof(std::uint32_t));
    if (words.size() < 2 || words.front() > node_of_rank_.size()) refuse_list(lowest);
    all = words.front();
    out.insert(out.end(), words.begin() + 1, words.end());
  }
  return out;
}

void nodes::learn(boot::bootstrap& boot) {
  if (key_.empty()) return;
  std::ranges::fill(node_of_rank_, no_node);
  std::uint32_t count = 0;
  for (std::uint32_t rank = 0; rank < node_of_rank_.size(); ++rank) {
    if (node_of_rank_[rank] != no_node) continue;
    // Sharing memory is transitive, so the lowest rank that belongs to no node yet is the lowest of its own.
    const std::vector<std::uint32_t> members = members_of(boot, rank);
    if (members.front() != rank) refuse_list(rank);
    for (const std::uint32_t each : members) {
      if (each >= node_of_rank_.size() || node_of_rank_[each] != no_node) refuse_list(rank);
      node_of_rank_[each] = count;
    }
    ++count;
  }
}

}  // namespace weft::core
