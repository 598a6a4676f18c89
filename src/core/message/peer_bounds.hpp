// SPDX-License-Identifier: BSD-3-Clause
// Checks of what peers send: every size, offset, count and id of a message is checked here, before it is used.
//
// A peer may be wrong, or hostile: any field may have any of its 2^64 values. Sizes are bounded so that sums and
// products of them don't wrap around. `is_within` checks a range that a message names against the size of the region or
// operation that this rank knows.
#pragma once

#include <cstdint>

#include "core/message/choose_protocol.hpp"
#include "core/message/payload.hpp"
#include "core/message/shared_copy.hpp"
#include "core/message/wire.hpp"
#include "weft/completion.hpp"

namespace weft::core {

/// Whether `bytes` bytes from `offset` on lie within `whole` bytes.
[[nodiscard]] constexpr bool is_within(std::uint64_t offset, std::uint64_t bytes, std::uint64_t whole) noexcept {
  return offset <= whole && bytes <= whole - offset;
}

/// Whether `bytes` bytes can lie at `address` in the memory of any process.
[[nodiscard]] constexpr bool is_memory(std::uint64_t address, std::uint64_t bytes) noexcept {
  return bytes <= buffer_bytes_max && is_within(address, bytes, ~std::uint64_t{0});
}

/// Whether a message of this kind may be for `id`. The library's own objects get only short active messages: a long
/// message for one would take memory that no allocator of the user's bounds.
[[nodiscard]] constexpr bool can_be_for(wire kind, std::uint32_t id) noexcept {
  switch (kind) {
    case wire::rts:
    case wire::put_signal:
    case wire::get_signal: return id < remote_completion_ids_max;
    case wire::put:
    case wire::put_rts:
    case wire::get: return id < remote_completion_ids_max || id == no_signal;
    default: return true;
  }
}

/// Whether `bytes` bytes can lie in one piece at `address`, or in `pieces` pieces that a list at `address` names. Lists
/// of more or of shorter pieces are not announced: so it takes less than a millisecond to walk one.
[[nodiscard]] constexpr bool is_memory(std::uint64_t address, std::uint64_t bytes, std::uint64_t pieces) noexcept {
  if (pieces == 0) return is_memory(address, bytes);
  return pieces <= remote_pieces_max && pieces <= bytes / remote_piece_bytes_min && bytes <= buffer_bytes_max &&
         is_memory(address, pieces * sizeof(const_buffer_ref));
}

// Whether the values of a body are possible. Not checked here: tickets, which are looked up with their peer and step
// among the operations under way; regions, which are looked up by name; values, operands and errors, which may be any.
[[nodiscard]] constexpr bool can_be(const rts_body& body) noexcept {
  return is_memory(body.address, body.bytes, body.pieces);
}
[[nodiscard]] constexpr bool can_be(const fin_body& /*body*/) noexcept { return true; }
[[nodiscard]] constexpr bool can_be(const rtr_body& /*body*/) noexcept { return true; }
[[nodiscard]] constexpr bool can_be(const chunks_failed_body& body) noexcept {
  return body.bytes <= buffer_bytes_max && body.sent <= body.bytes;
}
[[nodiscard]] constexpr bool can_be(const copy_invitation_body& body) noexcept {
  return copy_state::can_copy(body.bytes, body.asked_pages) && is_memory(body.address, body.bytes, body.pieces);
}
[[nodiscard]] constexpr bool can_be(const put_body& /*body*/) noexcept { return true; }
[[nodiscard]] constexpr bool can_be(const put_rts_body& body) noexcept {
  return body.bytes != 0 && body.bytes <= buffer_bytes_max;
}
[[nodiscard]] constexpr bool can_be(const signal_body& body) noexcept { return body.bytes <= buffer_bytes_max; }
[[nodiscard]] constexpr bool can_be(const atomic_body& /*body*/) noexcept { return true; }
[[nodiscard]] constexpr bool can_be(const atomic_result_body& /*body*/) noexcept { return true; }
[[nodiscard]] constexpr bool can_be(const ready_body& body) noexcept {
  return is_memory(body.address, body.bytes, body.pieces);
}
[[nodiscard]] constexpr bool can_be(const written_body& body) noexcept { return body.bytes <= buffer_bytes_max; }
[[nodiscard]] constexpr bool can_be(const withdraw_rtr_body& /*body*/) noexcept { return true; }
[[nodiscard]] constexpr bool can_be(const withdraw_rts_body& /*body*/) noexcept { return true; }
[[nodiscard]] constexpr bool can_be(const withdraw_answer_body& /*body*/) noexcept { return true; }

}  // namespace weft::core
