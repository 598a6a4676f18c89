// SPDX-License-Identifier: BSD-3-Clause
// Handles arriving sends.
#pragma once

#include "core/device/device_state.hpp"
#include "core/matching/engine_state.hpp"
#include "core/protocol/arrive.hpp"

namespace weft::core::arrive_send {

[[nodiscard]] bool on_send(device_state& dev, const net::arrival& message) noexcept;
[[nodiscard]] bool on_budget_notice(device_state& dev, const net::arrival& message) noexcept;

/// The engine that `message` is for.
[[nodiscard]] found_engine find_engine(device_state& dev, const net::arrival& message) noexcept;
/// Takes a send for an ordered engine, or an RTR for a receiver-first one.
[[nodiscard]] bool match_in_order(device_state& dev, engine_state& engine, const net::arrival& message) noexcept;
/// Takes, for a receiver-first engine, a message that takes back the RTR of the receive `ticket`.
[[nodiscard]] bool take_back_in_order(device_state& dev, engine_state& engine, const net::arrival& message,
                                      std::uint64_t ticket) noexcept;

/// Delivers to a receive that has matched: copies a payload and completes the receive; an RTS begins a rendezvous.
void deliver(device_state& dev, operation_state& receive, const net::arrival& message) noexcept;
/// Delivers messages of ordered engines that were matched now, each to its receive; those without a receive were taken
/// back. The receives may be other threads' (handover_lock.hpp).
void deliver_all(device_state& dev, matched_messages& released) noexcept;
/// Delivers a short payload that the fast path could not deliver.
void deliver_slow(device_state& dev, operation_state& receive, std::uint32_t source, std::uint64_t tag,
                  const std::byte* payload, std::uint32_t bytes) noexcept;

/// Tells `source` whether it has to send RTS instead of packets, if that has changed (core/matching/send_budget.hpp).
void send_budget_notice(device_state& dev, std::uint32_t source) noexcept;

}  // namespace weft::core::arrive_send
