// SPDX-License-Identifier: BSD-3-Clause
// Which protocol carries the bytes of a message: its size decides. The public fast path compares it with the first
// bound by itself (`detail::goes_inline`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/detail/raw_record.hpp"

namespace weft::core {

enum class message_protocol : std::uint8_t {
  inlined,     // travels in the cell that announces the message
  packet,      // copied into a packet of the sender's pool, which is handed over
  rendezvous,  // the message announces the bytes (RTS), and the receiver fetches them
};

/// `packet_bytes`: what a packet holds besides a header that goes along.
[[nodiscard]] constexpr message_protocol choose_protocol(std::uint64_t bytes, std::uint64_t packet_bytes) noexcept {
  if (bytes <= detail::inline_bytes_max) return message_protocol::inlined;
  return bytes <= packet_bytes ? message_protocol::packet : message_protocol::rendezvous;
}

/// A receiver copies straight from a list whose pieces have so many bytes on average: for each piece of a peer's the
/// system needs the time in which it copies some KiB (net/shm/cross_memory.hpp). A sender gathers shorter ones into
/// packets, which the receiver scatters: two copies, but by two cores, and of pieces that stay in their caches.
inline constexpr std::uint64_t announced_piece_bytes_min = std::uint64_t{32} << 10;
/// A sender helps to copy into a list whose pieces have so many bytes on average. Into shorter ones the receiver copies
/// alone, and waits for no sender that computes.
inline constexpr std::uint64_t shared_piece_bytes_min = std::uint64_t{4} << 10;
/// A list of more pieces is not named to a peer, which would need long to walk it.
inline constexpr std::uint64_t remote_pieces_max = std::uint64_t{1} << 14;
/// Nor is one of shorter pieces.
inline constexpr std::uint64_t remote_piece_bytes_min = std::min(announced_piece_bytes_min, shared_piece_bytes_min);

/// Whether so many bytes in pieces of this rank's are gathered into a packet before the system copies them, or
/// scattered from one afterwards. The system needs the time of some 500 bytes for each piece.
[[nodiscard]] constexpr bool goes_by_chunk(std::size_t pieces, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t own_piece_bytes_min = 512;
  return pieces > 4 && bytes / pieces < own_piece_bytes_min;
}

/// Whether the bytes go with the message itself.
[[nodiscard]] constexpr bool is_eager(std::uint64_t bytes, std::uint64_t packet_bytes) noexcept {
  return choose_protocol(bytes, packet_bytes) != message_protocol::rendezvous;
}

}  // namespace weft::core
