// Ranks that nothing more can be sent to.
#pragma once

#include "core/device/device_state.hpp"

namespace weft::core {

/// The answer of a post. **Errors**: transport_failed where it is retry and always will be.
[[nodiscard]] status unless_cut_off(device_state& dev, operation opcode, std::uint32_t peer, status answer);
/// Whether what an operation in the backlog has still to send can't be sent: it ends with the error then.
[[nodiscard]] bool end_if_cut_off(device_state& dev, operation_state& operation) noexcept;

}  // namespace weft::core
