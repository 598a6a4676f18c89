// SPDX-License-Identifier: BSD-3-Clause
// Operations that a flush of their peer waits for (runtime/flush.cpp).
#pragma once

#include <cstdint>
#include <utility>

#include "core/device/device_state.hpp"
#include "core/operation/operation_state.hpp"

namespace weft::core::awaited {

void count(device_state& dev, operation_state& operation) noexcept;
/// Wakes flushes if it was the last one that they wait for.
void uncount(device_state& dev, const operation_state& operation) noexcept;

/// A flush that begins from here on waits for `operation`. Its opcode, peer and region are set.
inline void begin(device_state& dev, operation_state& operation) noexcept {
  if (!std::exchange(operation.sending.is_awaited, true)) count(dev, operation);
}
/// The operation is complete, or it was not posted.
inline void end(device_state& dev, operation_state& operation) noexcept {
  if (std::exchange(operation.sending.is_awaited, false)) uncount(dev, operation);
}

}  // namespace weft::core::awaited
