// SPDX-License-Identifier: BSD-3-Clause
// What the ranks have before a collective, and what they are to have after it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "coll/args/collective_args.hpp"

namespace weft::coll::test {

using all_bytes = std::vector<std::vector<std::byte>>;  // by rank

/// Bytes that no rank writes are in `after` as in `before`.
struct expected {
  all_bytes in;
  all_bytes before;  // of out
  all_bytes after;
};

/// Of gather, scatter, allgather, alltoall, scan and exscan. `of` has the arguments of each rank.
[[nodiscard]] expected expect_blocks(std::span<const collective_args> of, std::mt19937& random);

[[nodiscard]] expected expect_broadcast(std::span<const collective_args> of, std::mt19937& random);
/// Of reduce, allreduce and reduce_scatter. Bytes of a rank behind the end of `after` do not matter.
[[nodiscard]] expected expect_reduction(std::span<const collective_args> of, std::mt19937& random);

/// `bytes` bytes from `offset` on of ranks 0 to `count` - 1, reduced in order, as the running check does it.
[[nodiscard]] std::vector<std::byte> reduced(const all_bytes& in, std::uint32_t count, std::uint64_t offset,
                                             std::uint64_t bytes);

[[nodiscard]] inline std::vector<std::byte> some(std::uint64_t bytes, std::mt19937& random) {
  std::vector<std::byte> out(bytes);
  for (std::byte& each : out) each = static_cast<std::byte>(random());
  return out;
}

[[nodiscard]] inline std::uint64_t bytes_of(const collective_args& of, const block_list& blocks, std::uint32_t rank) {
  return blocks.bytes.empty() ? of.block_bytes : blocks.bytes[rank];
}
[[nodiscard]] inline std::uint64_t offset_of(const collective_args& of, const block_list& blocks, std::uint32_t rank) {
  return blocks.bytes.empty() ? rank * of.block_bytes : blocks.offsets[rank];
}
[[nodiscard]] inline std::uint64_t end_of(const collective_args& of, const block_list& blocks) {
  std::uint64_t out = 0;
  for (std::uint32_t rank = 0; rank < of.size; ++rank)
    out = std::max(out, offset_of(of, blocks, rank) + bytes_of(of, blocks, rank));
  return out;
}

/// The block of `rank`, in bytes with a block for each rank.
[[nodiscard]] inline std::span<const std::byte> block(std::span<const std::byte> all, const collective_args& of,
                                                      const block_list& blocks, std::uint32_t rank) {
  return all.subspan(offset_of(of, blocks, rank), bytes_of(of, blocks, rank));
}
inline void set_block(std::span<std::byte> all, const collective_args& of, const block_list& blocks, std::uint32_t rank,
                      std::span<const std::byte> bytes) {
  std::ranges::copy(bytes, all.subspan(offset_of(of, blocks, rank), bytes_of(of, blocks, rank)).begin());
}

}  // namespace weft::coll::test
