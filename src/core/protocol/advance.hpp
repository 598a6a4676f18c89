// SPDX-License-Identifier: BSD-3-Clause
// The next step of an operation in the backlog.
#pragma once

#include "core/device/device_state.hpp"

namespace weft::core {

/// Does it. True: this device has nothing more to do for the operation.
[[nodiscard]] bool advance(device_state& dev, operation_state& operation) noexcept;

}  // namespace weft::core
