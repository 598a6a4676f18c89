// SPDX-License-Identifier: BSD-3-Clause
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
[[nodiscard]] inline part block_of(location at, const shape& of, const block_list& blocks,
                                   std::uint32_t rank) noexcept {
  if (blocks.bytes.empty()) return {at, rank * of.block_bytes, of.block_bytes};
  return {at, blocks.offsets[rank], blocks.bytes[rank]};
}

/// Part `index` of `count` of whole elements, as equal as they can be: the first ones have one more.
[[nodiscard]] constexpr part piece_of(part whole, std::uint64_t element_bytes, std::uint32_t index,
                                      std::uint32_t count) noexcept {
  const std::uint64_t elements = whole.bytes / element_bytes;
  const std::uint64_t each = elements / count, more = elements % count;
  const std::uint64_t begin = index * each + (index < more ? index : more);
  return sub(whole, begin * element_bytes, (each + (index < more ? 1 : 0)) * element_bytes);
}

/// In how many segments a pipeline passes a block on, each of whole elements and of about `segment_bytes`.
[[nodiscard]] constexpr std::uint32_t segments_of(const shape& of) noexcept {
  constexpr std::uint64_t most = 1024;  // so many steps a schedule may have, and labels
  const std::uint64_t elements = of.block_bytes / of.element_bytes;
  const std::uint64_t wanted = of.segment_bytes == 0 ? most : of.block_bytes / of.segment_bytes;
  const std::uint64_t able = wanted < elements ? wanted : elements;
  return static_cast<std::uint32_t>(able < 1 ? 1 : able < most ? able : most);
}

}  // namespace weft::coll
