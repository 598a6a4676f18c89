// SPDX-License-Identifier: BSD-3-Clause
// The backlog of a device at the end of its runtime.
#pragma once

#include "core/device/device_state.hpp"

namespace weft::core {

/// Sends the answers that peers wait for, and gives up all else that waits in the backlog. No other thread uses the
/// device any more. **Blocking**: a second at most. **Returns** how many answers found no room.
[[nodiscard]] unsigned end_backlog(device_state& dev) noexcept;

}  // namespace weft::core
