// SPDX-License-Identifier: BSD-3-Clause
// The layout of a message on a fabric: this header, then the payload. No field is used before it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "weft/detail/raw_record.hpp"

namespace weft::net::ofi {

inline constexpr std::uint8_t wire_version = 3;

struct wire_header {
  std::uint64_t job = 0;  // drawn by rank 0: tells this job's messages from anybody else's
  std::uint64_t tag = 0;
  std::uint32_t source = 0;
  std::uint32_t id = 0;
  std::uint32_t sequence = 0;
  std::uint32_t bytes = 0;
  std::uint16_t kind = 0;
  std::uint8_t is_packet = 0;      // the payload came in a packet, however short it is
  std::uint8_t device = 0;         // which of the target's devices, or `no_device`
  std::uint8_t sender_device = 0;  // chooses the target's device if `device` is `no_device`
  std::uint8_t version = wire_version;
  std::uint16_t padding = 0;
};

inline constexpr std::uint8_t no_device = 0xff;

static_assert(sizeof(wire_header) == 40 && sizeof(wire_header) % 8 == 0);

/// What a rank accepts: messages of its job, from other ranks, no longer than its packets.
struct wire_bounds {
  std::uint64_t job = 0;
  std::uint32_t ranks = 0;
  std::uint32_t self = 0;
  std::uint32_t packet_bytes = 0;
};

/// The header of a valid message, whose payload is then the rest of `message`; nothing for an invalid one. Device
/// numbers are not checked: the message goes to a device that lives.
[[nodiscard]] inline std::optional<wire_header> read_header(std::span<const std::byte> message,
                                                            const wire_bounds& bounds) noexcept {
  wire_header out;
  if (message.size() < sizeof out) return std::nullopt;
  std::memcpy(&out, message.data(), sizeof out);
  const bool is_ours = out.job == bounds.job && out.version == wire_version;
  const bool is_from_a_peer = out.source < bounds.ranks && out.source != bounds.self;
  const bool fits = out.bytes <= (out.is_packet != 0 ? bounds.packet_bytes : detail::inline_bytes_max) &&
                    out.bytes == message.size() - sizeof out;
  if (!is_ours || !is_from_a_peer || !fits) return std::nullopt;
  return out;
}

}  // namespace weft::net::ofi
