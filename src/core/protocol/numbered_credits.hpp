// SPDX-License-Identifier: BSD-3-Clause
// Credits for numbered messages: how posts take them, and how they return (core/matching/order_credits.hpp).
#pragma once

#include <cstdint>

#include "core/device/device_state.hpp"
#include "core/matching/ordered_numbers.hpp"

namespace weft::core::numbered_credits {

// The sender's side.

/// Takes credits at a rank for numbers without one, and for the next number. Where there are none, it asks the device
/// that the post names, which has to be polled in any case; no other one of that rank may be. **Returns** whether the
/// next number has a credit.
[[nodiscard]] bool refill(device_state& dev, ordered_numbers& numbers, detail::message_target target) noexcept;
/// A post has not used the credit that it has taken: other engines may need it.
void release_unused(device_state& dev, ordered_numbers& numbers, std::uint32_t target) noexcept;
/// Whether the message of `operation`, which has a number of the engine `id`, may be sent now. **Threads**: those
/// inside a gate.
[[nodiscard]] bool may_send(device_state& dev, operation_state& operation, std::uint32_t id) noexcept;
[[nodiscard]] bool on_order_notice(device_state& dev, const net::arrival& message) noexcept;

// The receiver's side.

[[nodiscard]] bool on_order_request(device_state& dev, const net::arrival& message) noexcept;
/// So many messages of `source` were put in order, or dropped.
void put_in_order(device_state& dev, std::uint32_t source, std::uint32_t count) noexcept;
/// A message was dropped, or is kept until its engine is made. Counts it if it has a number and was not kept before.
void drop_or_keep(device_state& dev, const net::arrival& message) noexcept;
/// What a call of an ordered engine leaves to its caller, but for the messages: credits, and more early messages.
void continue_call(device_state& dev, const matched_messages& released) noexcept;
/// A part of each call of progress that finds something left. **Returns** how much it has moved.
unsigned continue_rest(device_state& dev) noexcept;

}  // namespace weft::core::numbered_credits
