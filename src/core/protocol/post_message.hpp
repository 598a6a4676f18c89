// SPDX-License-Identifier: BSD-3-Clause
// Posting an active message or send.
#pragma once

#include <cstdint>

#include "core/device/device_state.hpp"
#include "core/matching/engine_state.hpp"

namespace weft::core {

/// The header of an active message whose payload comes with it.
[[nodiscard]] constexpr net::header active_message_to(std::uint32_t id, std::uint64_t tag) noexcept {
  return {.kind = static_cast<std::uint32_t>(wire::active_message), .id = id, .sequence = 0, .tag = tag};
}

/// A message of any kind to post.
struct message_request {
  wire eager;
  wire rts;
  operation opcode;
  std::uint32_t peer;
  std::uint32_t id;  // id of the completion or engine
  std::uint64_t tag;
  source_payload bytes;
  completion* local;
  void* context;
  std::uint32_t device;
  std::uint32_t policy;  // policy of a send, in the high byte of the kind
  bool delivered;
  bool allow_done;
  bool allow_retry;
  std::uint32_t sequence = 0;
};

/// Refuses posts that may not answer retry. **Errors**: backlog_full, always.
[[noreturn]] void throw_backlog_full(operation opcode, std::uint32_t peer, std::uint32_t count);

namespace post_message {

// Implement the functions of `device` with these names; the arguments have been checked.
[[nodiscard]] status post_message(device_state& dev, const message_request& request);
[[nodiscard]] status post_packet(device_state& dev, std::uint32_t peer, std::uint32_t id, std::uint32_t packet,
                                 std::uint32_t bytes, const post_packet_options& options);
[[nodiscard]] status post_send(device_state& dev, const message_request& request, engine_state& engine);

/// Tries once to send the message inline or in a packet. If there is no room, `reason` says what is short; it is `none`
/// if a kind of memory has failed to read the bytes.
[[nodiscard]] net::post_result post_eager(device_state& dev, std::uint32_t peer, std::uint32_t device,
                                          const net::header& header, const source_payload& bytes,
                                          shortage& reason) noexcept;
/// Tries once to send the RTS of a long message; true: *posted*.
[[nodiscard]] bool try_post_rts(device_state& dev, const message_request& request) noexcept;
/// A step of the backlog: tries to send the message again.
[[nodiscard]] bool post_again(device_state& dev, operation_state& operation) noexcept;

}  // namespace post_message

}  // namespace weft::core
