// SPDX-License-Identifier: BSD-3-Clause
// A long message that target and sender copy together (core/message/shared_copy.hpp).
#pragma once

#include "core/device/device_state.hpp"

namespace weft::core::cooperative_copy {

// The target's side.
/// False: it is not possible, or not worth it; nothing has happened.
[[nodiscard]] bool begin(device_state& dev, operation_state& operation) noexcept;
/// A step: copies some pieces.
[[nodiscard]] bool fetch(device_state& dev, operation_state& operation) noexcept;

// The sender's side.
[[nodiscard]] bool on_copy_invitation(device_state& dev, const net::arrival& message) noexcept;
/// A step: copies some pieces.
[[nodiscard]] bool write_pieces(device_state& dev, operation_state& help) noexcept;

}  // namespace weft::core::cooperative_copy
