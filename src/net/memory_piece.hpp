// SPDX-License-Identifier: BSD-3-Clause
// Pieces of memory that a direct copy reads or writes, in this process or in a peer's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace weft::net {

/// `bytes` bytes from `address` on, laid out as the system calls have it.
struct memory_piece {
  std::uint64_t address;
  std::uint64_t bytes;
};

/// The pieces of one side of a copy, in the order of the bytes.
using memory_pieces = std::span<const memory_piece>;

/// So many pieces may each side of a copy have: at 1 KiB each, the system call costs some hundredths of the copy, and
/// both sides' pieces fit on the stack of a fiber.
inline constexpr std::size_t copy_pieces_max = 64;

/// Memory of this process as a piece. For memory that is only read as well.
[[nodiscard]] inline memory_piece piece_of(const void* address, std::uint64_t bytes) noexcept {
  return {reinterpret_cast<std::uint64_t>(address), bytes};
}

/// A copy in this process: `to` and `from` have as many bytes.
inline void copy_here(memory_pieces to, memory_pieces from) noexcept {
  std::uint64_t written = 0;  // bytes written of the first piece of `to`
  std::uint64_t read = 0;
  while (!to.empty() && !from.empty()) {
    const std::uint64_t bytes = std::min(to.front().bytes - written, from.front().bytes - read);
    if (bytes != 0) {
      std::memcpy(reinterpret_cast<void*>(to.front().address + written),
                  reinterpret_cast<const void*>(from.front().address + read), bytes);
    }
    written += bytes;
    read += bytes;
    if (written == to.front().bytes) {
      to = to.subspan(1);
      written = 0;
    }
    if (read == from.front().bytes) {
      from = from.subspan(1);
      read = 0;
    }
  }
}

}  // namespace weft::net
