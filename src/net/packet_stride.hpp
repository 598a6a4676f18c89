// SPDX-License-Identifier: BSD-3-Clause
// How packets lie in a pool's memory.
#pragma once

#include <cstddef>

#include "weft/detail/atomics.hpp"

namespace weft::net {

/// The distance from one packet to the next: an odd number of cache lines, so that packets don't share cache sets.
[[nodiscard]] constexpr std::size_t packet_stride(std::size_t packet_bytes) noexcept {
  const std::size_t lines = (packet_bytes + detail::cache_line_bytes - 1) / detail::cache_line_bytes;
  return (lines | 1) * detail::cache_line_bytes;
}

}  // namespace weft::net
