// SPDX-License-Identifier: BSD-3-Clause
// The table of algorithms, and the rules by which they are chosen.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "coll/algorithms/algorithms.hpp"
#include "coll/args/collective_args.hpp"
#include "coll/schedule/algorithm.hpp"

namespace weft::coll {

/// The collectives for which an algorithm is chosen, if it can do them.
struct rule {
  static constexpr std::uint64_t any_bytes = ~std::uint64_t{0};

  coll::operation operation;
  std::string_view algorithm;
  std::uint64_t block_bytes_max = any_bytes;
  std::uint32_t members_min = 1;
  /// It holds only where ranks share cores, in groups of at most `members_max`.
  bool is_oversubscribed = false;
  std::uint32_t members_max = linear_members_max;

  /// `block_bytes`: of each block, or their mean.
  [[nodiscard]] bool fits(const collective_args& args, std::uint64_t block_bytes) const noexcept {
    if (operation != args.operation || block_bytes > block_bytes_max || args.size < members_min) return false;
    return !is_oversubscribed || (args.is_oversubscribed && args.size <= members_max);
  }
};

/// All algorithms, by operation.
[[nodiscard]] std::span<const algorithm> algorithms() noexcept;
/// All rules, in the order in which they are tried.
[[nodiscard]] std::span<const rule> rules() noexcept;

}  // namespace weft::coll
