// SPDX-License-Identifier: BSD-3-Clause
// Puts, gets and remote atomics that reach their target as messages.
#pragma once

#include "core/device/device_state.hpp"

namespace weft::core::one_sided_target {

[[nodiscard]] bool on_put(device_state& dev, const net::arrival& message) noexcept;
[[nodiscard]] bool on_put_rts(device_state& dev, const net::arrival& message) noexcept;
[[nodiscard]] bool on_get(device_state& dev, const net::arrival& message) noexcept;
[[nodiscard]] bool on_signal(device_state& dev, const net::arrival& message) noexcept;
[[nodiscard]] bool on_atomic(device_state& dev, const net::arrival& message) noexcept;
[[nodiscard]] bool on_atomic_result(device_state& dev, const net::arrival& message) noexcept;
/// A step: sends the result of an atomic.
[[nodiscard]] bool answer_atomic(device_state& dev, operation_state& operation) noexcept;

}  // namespace weft::core::one_sided_target
