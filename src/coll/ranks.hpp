// Numbers of ranks and blocks that several algorithms compute.
#pragma once

#include <bit>
#include <cstdint>

#include "coll/schedule.hpp"
#include "coll/shape.hpp"

namespace weft::coll {

/// This rank's number if the root had number 0, and back.
[[nodiscard]] constexpr std::uint32_t relative_rank(const shape& of) noexcept {
  return of.rank >= of.root ? of.rank - of.root : of.rank + of.size - of.root;
}
[[nodiscard]] constexpr std::uint32_t rank_of_relative(const shape& of, std::uint32_t relative) noexcept {
  const std::uint64_t rank = std::uint64_t{relative} + of.root;
  return static_cast<std::uint32_t>(rank >= of.size ? rank - of.size : rank);
}

/// The smallest number of rounds in which a message reaches all of `size` ranks if each doubles them.
[[nodiscard]] constexpr std::uint32_t doublings(std::uint32_t size) noexcept {
  return static_cast<std::uint32_t>(std::bit_width(size - 1));
}

/// The block of `rank` in a place with a block for each rank.
[[nodiscard]] inline part block_of(place at, const shape& of, const block_list& blocks, std::uint32_t rank) noexcept {
  if (blocks.bytes.empty()) return {at, rank * of.block_bytes, of.block_bytes};
  return {at, blocks.offsets[rank], blocks.bytes[rank]};
}

}  // namespace weft::coll
