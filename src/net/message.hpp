// A message as core and transports exchange it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/raw_record.hpp"

namespace weft::net {

/// What a message carries besides its payload; transports pass it on unread.
struct header {
  std::uint32_t kind = 0;      // which protocol step this is (core/message/wire.hpp); 16 bits travel
  std::uint32_t id = 0;        // remote completion, later matching engine
  std::uint32_t sequence = 0;  // number within (source, engine) for ordered engines; 0 elsewhere
  std::uint32_t note = 0;      // the sender's own: does not travel, and comes back with a message that was lost
  std::uint64_t tag = 0;
};

enum class post_result : std::uint8_t {
  ok,    // the message is on its way; a packet now belongs to the transport
  full,  // no room on the way to that peer: nothing happened
  busy,  // another thread is posting there at this moment: nothing happened
};

/// A message as a transport hands it over; its payload belongs to the transport until the sink consumes it. A payload
/// without an owner is copied in whole words: what lies behind it up to a multiple of 8 bytes can be read, whatever
/// its value.
struct arrival {
  std::uint32_t source = 0;
  net::header header;
  const std::byte* payload = nullptr;
  std::uint32_t bytes = 0;
  detail::payload_owner* owner = nullptr;  // null: the payload is in the descriptor and valid during the call only
};

/// The most common message: it fits a register.
inline constexpr std::uint32_t word_bytes = 8;

}  // namespace weft::net
