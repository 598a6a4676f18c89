// What handlers of arriving messages share: reading a message of the library's own, and giving a payload back.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "net/transport.hpp"

namespace weft::core {

/// Reads the body of a message of the library's own; false where it has another size.
template <class Body>
[[nodiscard]] bool read_body(const net::arrival& message, Body& out) noexcept {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (message.owner != nullptr || message.bytes != sizeof out) return false;
  std::memcpy(&out, message.payload, sizeof out);
  return true;
}

/// The payload of a message that is dealt with goes back to where it came from.
inline void give_back(const net::arrival& message) noexcept {
  if (message.owner != nullptr) message.owner->release(const_cast<std::byte*>(message.payload), message.bytes);
}

}  // namespace weft::core
