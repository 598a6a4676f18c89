// SPDX-License-Identifier: BSD-3-Clause
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
  std::uint32_t note = 0;      // the sender's: does not travel; `on_lost` gets it if the message is lost
  std::uint64_t tag = 0;
};

enum class post_result : std::uint8_t {
  ok,    // the message is sent; its packet, if any, now belongs to the transport
  full,  // no room in the ring or queue to that peer: nothing happened
  busy,  // another thread is posting to that peer: nothing happened
};

/// A message as a transport gives it to a sink; its payload belongs to the transport until the sink consumes it. A
/// payload without an owner is copied in whole words: the bytes after it, up to a multiple of 8, must be readable.
struct arrival {
  std::uint32_t source = 0;
  net::header header;
  const std::byte* payload = nullptr;
  std::uint32_t bytes = 0;
  detail::payload_owner* owner = nullptr;  // null: an inline payload, valid during the call only
};

/// The payload of the most common message: it fits a register.
inline constexpr std::uint32_t word_bytes = 8;

}  // namespace weft::net
