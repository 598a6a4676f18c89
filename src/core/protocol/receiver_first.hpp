// SPDX-License-Identifier: BSD-3-Clause
// Engines whose receivers begin (dang2016, 2.3.2).
#pragma once

#include "core/device/device_state.hpp"
#include "core/matching/engine_state.hpp"
#include "core/matching/unexpected_sends.hpp"
#include "core/protocol/cancel.hpp"
#include "core/protocol/receive.hpp"

namespace weft::core::receiver_first {

// The receiver's side.
/// Posts a receive: sends an RTR to its sender. **Errors**: backlog_full, transport_failed.
[[nodiscard]] status announce(device_state& dev, operation_state& receive, const receive_request& request);
/// A step: sends the RTR that had no room.
[[nodiscard]] bool send_ready(device_state& dev, operation_state& receive) noexcept;
[[nodiscard]] bool on_written_chunk(device_state& dev, const net::arrival& message, std::uint64_t offset) noexcept;
/// The sender can't read its bytes.
[[nodiscard]] bool on_chunks_failed(device_state& dev, const net::arrival& message,
                                    const chunks_failed_body& body) noexcept;
[[nodiscard]] bool on_written(device_state& dev, const net::arrival& message) noexcept;
/// Asks the sender, once, to give the receive up. **Returns**: `too_late` if there is no such receive; `asked` if the
/// sender has been asked, now or before, and will answer; `busy` if it could not be asked: try again.
[[nodiscard]] cancel_answer ask_back(device_state& dev, std::uint64_t ticket) noexcept;
/// Sends that request, which had no room, from the backlog.
[[nodiscard]] bool ask_again(device_state& dev, operation_state& carrier) noexcept;

// The sender's side.
/// Posts a send: it matches an RTR, or waits for one.
[[nodiscard]] status match_ready(device_state& dev, operation_state& send, engine_state& engine, bool allow_done,
                                 bool allow_retry);
[[nodiscard]] bool on_ready_to_receive(device_state& dev, const net::arrival& message) noexcept;
void meet_ready(device_state& dev, operation_state& send, const ready_body& ready) noexcept;
/// Steps: send the bytes, and the message that follows them.
[[nodiscard]] bool write(device_state& dev, operation_state& send) noexcept;
[[nodiscard]] bool send_written(device_state& dev, operation_state& send) noexcept;
[[nodiscard]] bool on_withdraw_rtr(device_state& dev, const net::arrival& message) noexcept;
/// Answers an RTR that no send will match here with the error `why`.
void give_up(device_state& dev, unexpected_message& ready, errc why) noexcept;
/// Ends an RTR that was taken back, or a message that takes one back.
void end_taken_back(device_state& dev, unexpected_message& message) noexcept;
/// The ticket of the receive that has sent this RTR.
[[nodiscard]] std::uint64_t ticket_of(const unexpected_message& ready) noexcept;

/// Logs, once, that the engine is of another kind at the message's sender.
void say_kinds_differ(device_state& dev, engine_state& engine, const net::arrival& message) noexcept;

}  // namespace weft::core::receiver_first
