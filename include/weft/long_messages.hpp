// SPDX-License-Identifier: BSD-3-Clause
// How the bytes of long messages travel between ranks that can read each other's memory.
#pragma once

#include <cstdint>

namespace weft {

/// How a rank receives messages that are longer than a packet, from a peer whose memory it can read. The receiver
/// decides for each message. Where it can't read that memory, the sender sends packets.
enum class long_messages : std::uint8_t {
  automatic,  ///< up to 32 KiB by the speed of the messages before, else by both
  packets,    ///< the sender copies the bytes into packets, and the receiver copies them out
  one_side,   ///< the receiver copies them from the sender's memory
  both,       ///< receiver and sender share that copy, where it is worth it
};

/// Its name in `WEFT_LONG_MESSAGES`. **Blocking**: never. **Threads**: any. **Errors**: none.
[[nodiscard]] constexpr const char* name_of(long_messages choice) noexcept {
  switch (choice) {
    case long_messages::automatic: return "auto";
    case long_messages::packets: return "packets";
    case long_messages::one_side: return "one_side";
    case long_messages::both: return "both";
  }
  return "unknown";
}

}  // namespace weft
