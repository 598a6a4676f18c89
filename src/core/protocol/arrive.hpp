// SPDX-License-Identifier: BSD-3-Clause
// For all handlers of arriving messages. They answer like a sink's `on_message` (net/sink.hpp): true if the message is
// consumed, false if there is no room and the transport has to keep it.
#pragma once

#include <cstdint>

#include "core/device/device_state.hpp"
#include "core/message/message_body.hpp"
#include "core/operation/operation_state.hpp"
#include "core/runtime/registrations.hpp"

namespace weft::core {

/// The result of looking up a message's id.
enum class lookup : std::uint8_t {
  found,
  kept,     ///< nothing yet: the message waits until the id is registered
  no_room,  ///< nothing yet, and there is no room for the message
  withdrawn,
};
struct found_entry {
  lookup state;
  remote_entry* entry;
};
struct found_engine {
  lookup state;
  engine_state* engine;
};

namespace arrive {

/// The completion object that `message` is for.
[[nodiscard]] found_entry find_entry(device_state& dev, const net::arrival& message) noexcept;

/// Counts an invalid message, and gives its packet back. Always true.
[[nodiscard]] bool reject(device_state& dev, const net::arrival& message) noexcept;
void count_dropped(device_state& dev) noexcept;
/// Counts a dropped message, and gives its packet back. Always true.
[[nodiscard]] bool drop(device_state& dev, const net::arrival& message) noexcept;
/// An operation to answer the sender with; null if none is free: then call `put_aside`.
[[nodiscard]] operation_state* get_operation(device_state& dev, const net::arrival& message) noexcept;
/// Keeps the message until the resource that it lacks is free, so that messages behind it are delivered. False: there
/// is no room for it.
[[nodiscard]] bool put_aside(device_state& dev, const net::arrival& message) noexcept;
/// The error that a peer has sent; none for a number that is no error.
[[nodiscard]] errc error_of(std::uint64_t word) noexcept;

/// The operation whose first message `message` answers; if there is none, refuses the message and returns null.
template <class Body>
[[nodiscard]] operation_state* answered(device_state& dev, const net::arrival& message, Body& body) noexcept {
  if (read_body(message, body)) {
    operation_state* found = dev.operations().posts().find(body.ticket, message.source, step::wait_for_answer);
    if (found != nullptr) return found;
  }
  static_cast<void>(reject(dev, message));
  return nullptr;
}

}  // namespace arrive
}  // namespace weft::core
