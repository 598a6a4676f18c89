// SPDX-License-Identifier: BSD-3-Clause
// For all handlers of arriving messages: reading a message of the library's own, and giving a payload back.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "core/message/peer_bounds.hpp"
#include "net/transport.hpp"

namespace weft::core {

/// Reads the body at the start of a message's payload; false if it is impossible (peer_bounds.hpp).
template <class Body>
[[nodiscard]] bool read_head(const net::arrival& message, Body& out) noexcept {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (message.bytes < sizeof out) return false;
  std::memcpy(&out, message.payload, sizeof out);
  return can_be(out) && can_be_for(kind_of(message.header.kind), message.header.id);
}

/// The body of a message of the library's own, whose payload is only its body.
template <class Body>
[[nodiscard]] bool read_body(const net::arrival& message, Body& out) noexcept {
  return message.owner == nullptr && message.bytes == sizeof out && read_head(message, out);
}

/// Gives the payload of a handled message back to its owner.
inline void give_back(const net::arrival& message) noexcept {
  if (message.owner != nullptr) message.owner->release(const_cast<std::byte*>(message.payload), message.bytes);
}

}  // namespace weft::core
