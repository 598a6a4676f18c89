// The end of an operation: its completion record, and the signal.
#pragma once

#include <cstdint>

#include "core/device/device_state.hpp"
#include "core/device/operation_state.hpp"

namespace weft::core::complete {

/// Signals the operation's completion object and gives the operation back. A step of the backlog where the object is
/// full: false then, and nothing has happened.
[[nodiscard]] bool try_signal(device_state& dev, operation_state& operation) noexcept;
/// The same; where the object is full, the backlog tries again.
void signal_or_defer(device_state& dev, operation_state& operation) noexcept;

/// Signals an object for which this rank has no operation. False: it is full, and the payload stays the caller's.
[[nodiscard]] bool try_signal(device_state& dev, completion& object, completion_record&& record) noexcept;

/// The record of what has moved the user's bytes at `data`.
[[nodiscard]] completion_record record_of(operation opcode, std::uint32_t peer, std::uint64_t tag,
                                          const detail::raw_record::reference& data) noexcept;
[[nodiscard]] completion_record record_of(const operation_state& operation) noexcept;
/// The record of an active message: a short one lies in it, a longer one's packet belongs to it.
[[nodiscard]] completion_record record_of(const net::arrival& message) noexcept;

}  // namespace weft::core::complete
