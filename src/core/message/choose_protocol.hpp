// Which protocol carries the bytes of a message: its size decides. The public fast path compares it with the first
// bound by itself (`detail::goes_inline`).
#pragma once

#include <cstdint>

#include "weft/detail/raw_record.hpp"

namespace weft::core {

enum class message_protocol : std::uint8_t {
  inlined,     // in the cell that announces the message
  packet,      // copied into a packet of the sender's pool, which is handed over
  rendezvous,  // the message announces the bytes (RTS), and the receiver fetches them
};

/// `packet_bytes`: what a packet holds besides a header that goes along.
[[nodiscard]] constexpr message_protocol choose_protocol(std::uint64_t bytes, std::uint64_t packet_bytes) noexcept {
  if (bytes <= detail::inline_bytes_max) return message_protocol::inlined;
  return bytes <= packet_bytes ? message_protocol::packet : message_protocol::rendezvous;
}

/// Whether the bytes go with the message itself.
[[nodiscard]] constexpr bool is_eager(std::uint64_t bytes, std::uint64_t packet_bytes) noexcept {
  return choose_protocol(bytes, packet_bytes) != message_protocol::rendezvous;
}

}  // namespace weft::core
