// SPDX-License-Identifier: BSD-3-Clause
// Copies straight from or to the memory of a peer. At either side the bytes may lie in several pieces.
//
// Cost: a system call for up to `net::copy_pieces_max` pieces. Where pieces of this rank's are short, the bytes pass
// through packets, which stay in the cache: one more copy, but none of a piece by the system. Of the peer's list as
// many pieces are read before, by one more system call.
#pragma once

#include <cstdint>

#include "core/device/device_state.hpp"
#include "core/message/choose_protocol.hpp"
#include "core/operation/operation_state.hpp"

namespace weft::core {

/// How a message names this rank's buffer to the peer.
struct announced_memory {
  std::uint64_t address = 0;  // address of the bytes, or of the list of their pieces; 0: the peer may not copy
  std::uint32_t pieces = 0;   // pieces of that list
};

/// Memory of kinds that only their functions copy is not named. `piece_bytes_min`: a list of shorter pieces, on
/// average, is not named, nor a very long one.
template <class Buffer>
[[nodiscard]] announced_memory announced(const payload<Buffer>& memory,
                                         std::uint64_t piece_bytes_min = announced_piece_bytes_min) noexcept {
  if (!memory.is_for_peers()) return {};
  if (!memory.is_list()) return {reinterpret_cast<std::uint64_t>(memory.address_of_piece()), 0};
  if (memory.piece_bytes() < piece_bytes_min || memory.pieces() > remote_pieces_max) return {};
  return {reinterpret_cast<std::uint64_t>(memory.list()), static_cast<std::uint32_t>(memory.pieces())};
}

namespace direct_copy {

/// Copies bytes `offset` to `offset + bytes - 1` of the operation into `into`, from the memory of its peer that its
/// copy part names.
[[nodiscard]] net::copy_result read(device_state& dev, operation_state& operation, const target_payload& into,
                                    std::uint64_t offset, std::uint64_t bytes) noexcept;
/// Copies these bytes of `from` to that memory.
[[nodiscard]] net::copy_result write(device_state& dev, operation_state& operation, const source_payload& from,
                                     std::uint64_t offset, std::uint64_t bytes) noexcept;

}  // namespace direct_copy

}  // namespace weft::core
