// SPDX-License-Identifier: BSD-3-Clause
// Plain loops over blocks that lie a stride apart, as a program would write them: for layouts, for packing by loops,
// and for the limit of both.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weft::perf {

/// A shape for `weft::layout`.
struct block_loops {
  std::size_t block_bytes = 8;
  std::size_t stride_bytes = 8;

  /// Of memory for a message of so many bytes.
  [[nodiscard]] std::size_t memory_bytes(std::size_t bytes) const noexcept {
    return (bytes + block_bytes - 1) / block_bytes * stride_bytes;
  }

  std::size_t pack(const void* address, std::uint64_t offset, std::byte* to, std::size_t bytes) const noexcept {
    each_block(static_cast<const std::byte*>(address), offset, bytes, [&](const std::byte* block, auto part) {
      std::memcpy(to, block, part);
      to += part;
    });
    return bytes;
  }
  std::size_t unpack(void* address, std::uint64_t offset, const std::byte* from, std::size_t bytes) const noexcept {
    each_block(static_cast<std::byte*>(address), offset, bytes, [&](std::byte* block, auto part) {
      std::memcpy(block, from, part);
      from += part;
    });
    return bytes;
  }

 private:
  // Blocks of one word have a loop in which the compiler knows their size.
  template <class Byte, class Copy>
  void each_block(Byte* memory, std::uint64_t offset, std::size_t bytes, const Copy& copy) const noexcept {
    const std::size_t block_offset = offset % block_bytes;
    Byte* block = memory + offset / block_bytes * stride_bytes;
    if (block_offset != 0) {
      const std::size_t part = std::min(block_bytes - block_offset, bytes);
      copy(block + block_offset, part);
      bytes -= part;
      block += stride_bytes;
    }
    if (constexpr std::integral_constant<std::size_t, 8> word{}; block_bytes == word) {
      for (; bytes >= word; bytes -= word, block += stride_bytes) copy(block, word);
    } else {
      for (; bytes >= block_bytes; bytes -= block_bytes, block += stride_bytes) copy(block, block_bytes);
    }
    if (bytes != 0) copy(block, bytes);
  }
};

}  // namespace weft::perf
