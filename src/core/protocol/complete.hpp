// The end of an operation: its completion record, and the signal.
#pragma once

#include <cstdint>

#include "core/device/device_state.hpp"
#include "core/operation/operation_state.hpp"

namespace weft::core::complete {

/// Signals the operation's completion object and gives the operation back. False: the object is full, and nothing has
/// happened. A step of the backlog.
[[nodiscard]] bool try_signal(device_state& dev, operation_state& operation) noexcept;
/// The same; if the object is full, the backlog tries again.
void signal_or_defer(device_state& dev, operation_state& operation) noexcept;

/// Signals an object without an operation of this rank. False: the object is full, and the caller keeps the payload.
[[nodiscard]] bool try_signal(device_state& dev, completion& object, completion_record&& record) noexcept;

/// Puts an operation back into its set: nothing more is owed for it, and no flush waits for it.
void put_back(device_state& dev, operation_state& done) noexcept;

/// The record of an operation that has moved the user's bytes at `data`.
[[nodiscard]] completion_record record_of(operation opcode, std::uint32_t peer, std::uint64_t tag,
                                          const detail::raw_record::reference& data) noexcept;
[[nodiscard]] completion_record record_of(const operation_state& operation) noexcept;
/// The record of an active message: it contains a short payload, and owns the packet of a longer one.
[[nodiscard]] completion_record record_of(const net::arrival& message) noexcept;

}  // namespace weft::core::complete
