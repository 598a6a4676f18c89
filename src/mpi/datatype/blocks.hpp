// SPDX-License-Identifier: BSD-3-Clause
// The loops over blocks, for both directions: the compiler knows the size of small blocks.
//
// Addresses are integers, so that displacements from MPI_BOTTOM, which is null, are no arithmetic with null pointers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mpi/datatype/dataloop.hpp"

namespace weft::mpi::blocks {

/// Out of blocks at integer addresses, into packed bytes.
struct gathering {
  using packed = std::byte*;
  static void move(std::uintptr_t memory, packed bytes, std::size_t count) noexcept {
    std::memcpy(bytes, reinterpret_cast<const void*>(memory), count);
  }
};

/// The other direction.
struct scattering {
  using packed = const std::byte*;
  static void move(std::uintptr_t memory, packed bytes, std::size_t count) noexcept {
    std::memcpy(reinterpret_cast<void*>(memory), bytes, count);
  }
};

/// Moves a block whose size the compiler doesn't know. A short one is two moves that may overlap: memcpy takes longer.
template <class Direction>
inline void move_block(std::uintptr_t memory, typename Direction::packed bytes, std::size_t count) noexcept {
  const auto twice = [&](auto size) {
    constexpr std::size_t half = decltype(size)::value;
    Direction::move(memory, bytes, half);
    Direction::move(memory + count - half, bytes + count - half, half);
  };
  if (count > 64) return Direction::move(memory, bytes, count);
  if (count >= 32) return twice(std::integral_constant<std::size_t, 32>{});
  if (count >= 16) return twice(std::integral_constant<std::size_t, 16>{});
  if (count >= 8) return twice(std::integral_constant<std::size_t, 8>{});
  if (count >= 4) return twice(std::integral_constant<std::size_t, 4>{});
  if (count >= 2) return twice(std::integral_constant<std::size_t, 2>{});
  if (count == 1) Direction::move(memory, bytes, 1);
}

/// `count` whole blocks, `stride` apart. **Returns** the end of the packed bytes.
template <class Direction, std::size_t Bytes>
inline typename Direction::packed strided(std::uintptr_t memory, std::uintptr_t stride,
                                          typename Direction::packed bytes, std::size_t count) noexcept {
  for (; count >= 4; count -= 4) {
    Direction::move(memory, bytes, Bytes);
    Direction::move(memory + stride, bytes + Bytes, Bytes);
    Direction::move(memory + 2 * stride, bytes + 2 * Bytes, Bytes);
    Direction::move(memory + 3 * stride, bytes + 3 * Bytes, Bytes);
    memory += 4 * stride;
    bytes += 4 * Bytes;
  }
  for (; count != 0; --count, memory += stride, bytes += Bytes) Direction::move(memory, bytes, Bytes);
  return bytes;
}

/// `count` whole blocks at `displacements` from `memory`. **Returns** the end of the packed bytes.
template <class Direction, std::size_t Bytes>
inline typename Direction::packed scattered(std::uintptr_t memory, const std::int64_t* displacements,
                                            typename Direction::packed bytes, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i, bytes += Bytes) {
    Direction::move(memory + static_cast<std::uintptr_t>(displacements[i]), bytes, Bytes);
  }
  return bytes;
}

/// `count` times blocks of several sizes, as structs have them, `stride` apart. **Returns** the end of the packed
/// bytes.
template <class Direction>
inline typename Direction::packed structs(std::uintptr_t memory, std::uintptr_t stride, const node& body,
                                          typename Direction::packed bytes, std::size_t count) noexcept {
  const std::size_t entries = body.ends.size();
  const std::int64_t *const displacements = body.displacements.data(), *const ends = body.ends.data();
  for (; count != 0; --count, memory += stride) {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < entries; begin = ends[i++]) {
      const auto length = static_cast<std::size_t>(ends[i] - begin);
      move_block<Direction>(memory + static_cast<std::uintptr_t>(displacements[i]), bytes, length);
      bytes += length;
    }
  }
  return bytes;
}

/// Calls `known(size)` with a constant for sizes that have loops of their own, else `unknown()`.
template <class Known, class Unknown>
inline auto dispatch_size(std::size_t block_bytes, const Known& known, const Unknown& unknown) noexcept {
  switch (block_bytes) {
    case 1: return known(std::integral_constant<std::size_t, 1>{});
    case 2: return known(std::integral_constant<std::size_t, 2>{});
    case 4: return known(std::integral_constant<std::size_t, 4>{});
    case 8: return known(std::integral_constant<std::size_t, 8>{});
    case 12: return known(std::integral_constant<std::size_t, 12>{});
    case 16: return known(std::integral_constant<std::size_t, 16>{});
    case 24: return known(std::integral_constant<std::size_t, 24>{});
    case 32: return known(std::integral_constant<std::size_t, 32>{});
    default: return unknown();
  }
}

}  // namespace weft::mpi::blocks
