// SPDX-License-Identifier: BSD-3-Clause
// How much of a long message one call of progress copies.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/operation/operation_state.hpp"

namespace weft::core {

/// Bytes to copy from byte `done` on: what is left, but no more than some tens of microseconds take, so that other
/// messages are handled meanwhile. `piece_bytes`: of a piece of this rank's buffer, on average.
[[nodiscard]] inline std::uint64_t copy_step(const operation_state& operation, std::uint64_t done,
                                             std::uint64_t piece_bytes) noexcept {
  constexpr std::uint64_t bytes_max = std::uint64_t{512} << 10;
  constexpr std::uint64_t bytes_max_of_short_pieces = std::uint64_t{64} << 10;
  constexpr std::uint64_t short_piece_bytes_max = 256;
  return std::min(operation.bytes - done, piece_bytes > short_piece_bytes_max ? bytes_max : bytes_max_of_short_pieces);
}

}  // namespace weft::core
