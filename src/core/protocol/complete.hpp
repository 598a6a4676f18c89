// SPDX-License-Identifier: BSD-3-Clause
// The end of an operation: its completion record, and the signal.
#pragma once

#include <cstdint>

#include "core/device/device_state.hpp"
#include "core/operation/operation_state.hpp"

namespace weft::core::complete {

/// Signals the operation's completion object and gives the operation back. False: the object is full, and nothing has
/// happened. A step of the backlog.
[[nodiscard]] bool try_signal(device_state& dev, operation_state& operation) noexcept;
/// Signals it; if the object is full, the backlog tries again.
void signal_or_defer(device_state& dev, operation_state& operation) noexcept;

/// Signals an object without an operation of this rank. False: the object is full, and the caller keeps the payload.
[[nodiscard]] bool try_signal(device_state& dev, completion& object, completion_record&& record) noexcept;

/// Writes of a receive whose message is longer than its buffer, which not every completion object says: a line
/// (WEFT_LOG=info).
void log_truncated(const operation_state& receive) noexcept;

/// Puts an operation back into its set: nothing more is owed for it, and no flush waits for it.
void put_back(device_state& dev, operation_state& done) noexcept;

/// The record of an operation that has moved the user's bytes at `data`. `of_kind`: which are not in ordinary memory.
[[nodiscard]] completion_record record_of(operation opcode, std::uint32_t peer, std::uint64_t tag,
                                          const detail::raw_record::reference& data, bool of_kind = false) noexcept;
/// The part of a record that refers to `bytes` bytes of a user's buffer.
template <class Buffer>
[[nodiscard]] detail::raw_record::reference reference_to(const payload<Buffer>& data, std::uint64_t bytes,
                                                         void* context) noexcept {
  if (const memory* const kind = data.memory(); kind != nullptr) [[unlikely]] {
    // Stands in place of the owner (detail::payload_location::borrowed_of_kind).
    auto* const word = reinterpret_cast<detail::payload_owner*>(const_cast<memory*>(kind));
    return {const_cast<std::byte*>(data.address_of_piece()), bytes, word, context};
  }
  auto* const address = const_cast<std::byte*>(data.address());
  return {address, address != nullptr ? bytes : 0, nullptr, context};
}
[[nodiscard]] completion_record record_of(const operation_state& operation) noexcept;
/// The record of an active message: it contains a short payload, and owns the packet of a longer one.
[[nodiscard]] completion_record record_of(const net::arrival& message) noexcept;

}  // namespace weft::core::complete
