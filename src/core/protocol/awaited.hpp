// Operations that a flush of their peer waits for (runtime/flush.cpp).
#pragma once

#include <cstdint>
#include <utility>

#include "core/device/device_state.hpp"
#include "core/operation/operation_state.hpp"

namespace weft::core::awaited {

void add_to(device_state& dev, std::uint32_t peer) noexcept;
/// Wakes flushes if it was the last one.
void take_from(device_state& dev, std::uint32_t peer) noexcept;

/// From here on a flush waits for `operation`. Its peer is set.
inline void begin(device_state& dev, operation_state& operation) noexcept {
  if (!std::exchange(operation.sending.is_awaited, true)) add_to(dev, operation.peer);
}
/// The operation is complete, or it was not posted.
inline void end(device_state& dev, operation_state& operation) noexcept {
  if (std::exchange(operation.sending.is_awaited, false)) take_from(dev, operation.peer);
}

}  // namespace weft::core::awaited
