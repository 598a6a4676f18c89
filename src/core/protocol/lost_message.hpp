// Ranks that are cut off: nothing more can be sent to them.
#pragma once

#include "core/device/device_state.hpp"

namespace weft::core {

/// Returns `answer`, a post's. **Errors**: transport_failed if it is retry and `peer` is cut off.
[[nodiscard]] status unless_cut_off(device_state& dev, operation opcode, std::uint32_t peer, status answer);
/// Whether an operation in the backlog can't send any more, as its peer is cut off; then sets its error and next step.
[[nodiscard]] bool end_if_cut_off(device_state& dev, operation_state& operation) noexcept;

}  // namespace weft::core
