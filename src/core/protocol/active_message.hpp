// Handles an arriving active message whose payload comes with it.
#pragma once

#include "core/device/device_state.hpp"

namespace weft::core::active_message {

[[nodiscard]] bool on_active_message(device_state& dev, const net::arrival& message) noexcept;

}  // namespace weft::core::active_message
