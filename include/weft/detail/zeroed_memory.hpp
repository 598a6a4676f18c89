// SPDX-License-Identifier: BSD-3-Clause
// Memory that starts as zeros and costs nothing until it is touched.
//
// Queues and tables are laid out so that all zeros means empty: a large capacity then costs address space, not memory
// and not start-up time. An atomic integer is used in such memory without being constructed: it has the size of the
// integer (asserted where it is used), and zero is its zero.
#pragma once

#include <cstddef>

namespace weft::detail {

/// Zero bytes, aligned to a cache line; nullptr if there is no memory left. Defined in src/base/zeroed_memory.cpp.
[[nodiscard]] void* allocate_zeroed(std::size_t bytes) noexcept;

/// Larger memory may be given back in parts that begin and end at multiples of this.
inline constexpr std::size_t released_piece_bytes = std::size_t{64} << 10;

/// Gives memory of `allocate_zeroed` back, with its size; nullptr is ignored.
void release_zeroed(void* memory, std::size_t bytes) noexcept;

}  // namespace weft::detail
