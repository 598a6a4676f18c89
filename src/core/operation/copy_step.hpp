// How much of a long message one call of progress copies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/operation/operation_state.hpp"

namespace weft::core {

/// Bytes to copy from byte `done` on: what is left, but no more than some tens of microseconds take, so that other
/// messages are handled meanwhile. `piece`: how much lies in one piece there.
[[nodiscard]] inline std::uint64_t copy_step(const operation_state& operation, std::uint64_t done,
                                             std::uint64_t piece = std::numeric_limits<std::uint64_t>::max()) noexcept {
  constexpr std::uint64_t bytes_max = std::uint64_t{512} << 10;
  return std::min({operation.bytes - done, bytes_max, piece});
}

}  // namespace weft::core
