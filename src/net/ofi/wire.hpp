// What travels over a fabric: this header, then the payload. Nothing in it is believed before it is checked.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::net::ofi {

struct wire_header {
  std::uint64_t job = 0;  // drawn by rank 0: tells this job's messages from anybody else's
  std::uint64_t tag = 0;
  std::uint32_t source = 0;
  std::uint32_t id = 0;
  std::uint32_t sequence = 0;
  std::uint32_t bytes = 0;
  std::uint16_t kind = 0;
  std::uint8_t is_packet = 0;      // delivered in a packet, however short it is
  std::uint8_t device = 0;         // which of the target's devices, or `no_device`
  std::uint8_t sender_device = 0;  // decides where there is `no_device`
  std::uint8_t version = 1;
  std::uint16_t padding = 0;
};

inline constexpr std::uint8_t no_device = 0xff;
inline constexpr std::uint8_t wire_version = 1;

static_assert(sizeof(wire_header) == 40 && sizeof(wire_header) % 8 == 0);

}  // namespace weft::net::ofi
