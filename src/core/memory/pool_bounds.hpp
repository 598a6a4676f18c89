// SPDX-License-Identifier: BSD-3-Clause
// How many elements a pool has from the beginning, and at most.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace weft::core {

/// A pool with `at_first == most` has all of its elements from the beginning; any other one grows by whole slabs.
struct pool_bounds {
  std::uint32_t at_first;
  std::uint32_t most;
};

/// Bounds of a pool that grows: it can go on with so many while all bytes are used up.
inline constexpr std::uint32_t pool_elements_at_first = 256;
/// Elements have numbers of 28 bits, 0 excepted, in whole slabs.
inline constexpr std::uint32_t pool_elements_most = (std::uint32_t{1} << 28) - pool_elements_at_first;

/// Bounds of a pool whose count may be `set`. If it isn't, as many elements as fit into `bytes_max`.
[[nodiscard]] constexpr pool_bounds bounds_of(std::optional<std::uint32_t> set, std::uint64_t element_bytes,
                                              std::uint64_t bytes_max) noexcept {
  if (set) return {*set, *set};
  const std::uint64_t fitting =
      std::clamp<std::uint64_t>(bytes_max / element_bytes, pool_elements_at_first, pool_elements_most);
  return {pool_elements_at_first, static_cast<std::uint32_t>(fitting)};
}

}  // namespace weft::core
