// What an arriving send does.
#pragma once

#include "core/device/device_state.hpp"
#include "core/matching/engine_state.hpp"
#include "core/protocol/arrive.hpp"

namespace weft::core::send_recv {

[[nodiscard]] bool on_send(device_state& dev, const net::arrival& message) noexcept;
[[nodiscard]] bool on_wants_rts(device_state& dev, const net::arrival& message) noexcept;

/// The engine that `message` is for.
[[nodiscard]] found_engine find_engine(device_state& dev, const net::arrival& message) noexcept;
/// In an ordered engine: a message, or an RTR where receivers begin.
[[nodiscard]] bool match_in_order(device_state& dev, engine_state& engine, const net::arrival& message) noexcept;

/// To a receive that has matched: a payload is copied and the receive is complete; an RTS begins a rendezvous.
void deliver(device_state& dev, operation_state& receive, const net::arrival& message) noexcept;
/// The same for a short payload, where the fast way has not gone to the end.
void deliver_slow(device_state& dev, operation_state& receive, std::uint32_t source, std::uint64_t tag,
                  const std::byte* payload, std::uint32_t bytes) noexcept;

/// Tells `source` whether its messages are to be announced by RTS, where that has changed
/// (core/matching/send_budget.hpp).
void tell_budget(device_state& dev, std::uint32_t source) noexcept;

}  // namespace weft::core::send_recv
