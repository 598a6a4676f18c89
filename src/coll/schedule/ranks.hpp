// SPDX-License-Identifier: BSD-3-Clause
// Numbers of ranks and blocks that several algorithms compute.
#pragma once

#include <bit>
#include <cstdint>

#include "coll/args/collective_args.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

/// This rank's number if the root had number 0, and back.
[[nodiscard]] constexpr std::uint32_t relative_rank(const collective_args& args) noexcept {
  return args.rank >= args.root ? args.rank - args.root : args.rank + args.size - args.root;
}
[[nodiscard]] constexpr std::uint32_t rank_of_relative(const collective_args& args, std::uint32_t relative) noexcept {
  const std::uint64_t rank = std::uint64_t{relative} + args.root;
  return static_cast<std::uint32_t>(rank >= args.size ? rank - args.size : rank);
}

/// The smallest number of rounds in which a message reaches all of `size` ranks if each doubles them.
[[nodiscard]] constexpr std::uint32_t doublings(std::uint32_t size) noexcept {
  return static_cast<std::uint32_t>(std::bit_width(size - 1));
}

/// The block of `rank` in a buffer with a block for each rank.
[[nodiscard]] inline part block_of(location buffer, const collective_args& args, const block_list& blocks,
                                   std::uint32_t rank) noexcept {
  if (blocks.bytes.empty()) return {buffer, rank * args.block_bytes, args.block_bytes};
  return {buffer, blocks.offsets[rank], blocks.bytes[rank]};
}

/// Part `index` of `count` of whole elements, as equal as they can be: the first ones have one more.
[[nodiscard]] constexpr part piece_of(part whole, std::uint64_t element_bytes, std::uint32_t index,
                                      std::uint32_t count) noexcept {
  const std::uint64_t elements = whole.bytes / element_bytes;
  const std::uint64_t each = elements / count, more = elements % count;
  const std::uint64_t begin = index * each + (index < more ? index : more);
  return sub(whole, begin * element_bytes, (each + (index < more ? 1 : 0)) * element_bytes);
}

/// The number of segments in which a pipeline passes a block on, each of whole elements and of about `segment_bytes`.
[[nodiscard]] constexpr std::uint32_t segments_of(const collective_args& args) noexcept {
  constexpr std::uint64_t segments_max = 1024;  // a schedule may have so many steps, and labels
  const std::uint64_t elements = args.block_bytes / args.element_bytes;
  const std::uint64_t wanted = args.segment_bytes == 0 ? segments_max : args.block_bytes / args.segment_bytes;
  const std::uint64_t able = wanted < elements ? wanted : elements;
  return static_cast<std::uint32_t>(able < 1 ? 1 : able < segments_max ? able : segments_max);
}

}  // namespace weft::coll
