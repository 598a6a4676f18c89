// SPDX-License-Identifier: BSD-3-Clause
// The steps of a long message (yan2025-lci, 5.3). The target answers an RTS by copying from the sender's memory, then
// FIN (on_rts, fetch, send_fin). If it can't copy, it answers with RTR, and the sender sends packets (on_rtr, stream).
//
// A step does a bounded piece of work and answers true once this device has nothing more to do for the operation.
#pragma once

#include "core/device/device_state.hpp"
#include "core/operation/operation_state.hpp"

namespace weft::core::rendezvous {

/// The target begins to receive what RTS `body` announces, into the buffer of `receiving`: the next step is in the
/// backlog. A message that is longer than the buffer is not received: `receiving` ends with the error `truncated`.
void begin(device_state& dev, operation_state& receiving, const rts_body& body) noexcept;
/// The target refuses the message that the sender announced with `ticket`: the sender gets its buffer back, and `why`.
/// If `answer` owes a signal, that has the error, too.
void refuse(device_state& dev, operation_state& answer, std::uint64_t ticket, errc why) noexcept;

// The target's side.
[[nodiscard]] bool on_rts(device_state& dev, const net::arrival& message) noexcept;
[[nodiscard]] bool fetch(device_state& dev, operation_state& operation) noexcept;
[[nodiscard]] bool send_rtr(device_state& dev, operation_state& operation) noexcept;
[[nodiscard]] bool on_chunk(device_state& dev, const net::arrival& message) noexcept;
[[nodiscard]] bool on_chunks_failed(device_state& dev, const net::arrival& message) noexcept;
[[nodiscard]] bool send_fin(device_state& dev, operation_state& operation) noexcept;

// The sender's side.
[[nodiscard]] bool on_rtr(device_state& dev, const net::arrival& message) noexcept;
[[nodiscard]] bool stream(device_state& dev, operation_state& operation) noexcept;
[[nodiscard]] bool on_fin(device_state& dev, const net::arrival& message) noexcept;

/// Ends an operation whose bytes this rank can't read: it sends no further packet, and both sides get the error.
[[nodiscard]] bool fail_chunks(device_state& dev, operation_state& operation) noexcept;

/// Copies a chunk, whose place is checked, into the buffer. Several threads may, with a chunk each.
void copy_chunk(operation_state& to, const net::arrival& chunk, std::uint64_t offset) noexcept;

/// Whether a peer may ask for the bytes: an atomic has none, and the buffer of a put that has answered done may be
/// freed.
[[nodiscard]] inline bool has_bytes_to_send(const operation_state& operation) noexcept {
  return operation.owed.target != nullptr && operation.sending.source.bytes() == operation.bytes;
}

}  // namespace weft::core::rendezvous
