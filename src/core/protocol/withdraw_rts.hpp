// SPDX-License-Identifier: BSD-3-Clause
// Cancelling a send or active message whose RTS is at its target, or waits in the backlog here.
#pragma once

#include "core/device/device_state.hpp"
#include "core/protocol/cancel.hpp"

namespace weft::core::withdraw_rts {

// The sender's side.
/// Asks the target to give the message up. **Returns**: `too_late` if there is no such post, or if its target has begun
/// to receive it; `busy` until that is known: to be repeated.
[[nodiscard]] cancel_answer ask(device_state& dev, std::uint64_t ticket) noexcept;
/// Whether a message in the backlog is not to be sent any more.
[[nodiscard]] bool is_unwanted(device_state& dev, const operation_state& unsent) noexcept;
[[nodiscard]] bool on_withdraw_answer(device_state& dev, const net::arrival& message) noexcept;

// The target's side.
[[nodiscard]] bool on_withdraw_rts(device_state& dev, const net::arrival& message) noexcept;
/// A step: tells the sender that its RTS is not here.
[[nodiscard]] bool answer_withdraw(device_state& dev, operation_state& answer) noexcept;

}  // namespace weft::core::withdraw_rts
