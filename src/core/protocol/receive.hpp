// SPDX-License-Identifier: BSD-3-Clause
// Posting a receive, and probing for a message.
#pragma once

#include <cstdint>
#include <optional>

#include "core/device/device_state.hpp"
#include "core/matching/engine_state.hpp"
#include "core/matching/unexpected_sends.hpp"
#include "weft/matched_message.hpp"

namespace weft::core {

/// A receive to post; the arguments have been checked.
struct receive_request {
  engine_state* engine;
  std::uint32_t peer;
  std::uint64_t tag;
  match_policy policy;
  bool any_tag;
  target_payload into;
  completion* local;
  void* context;
  bool allow_retry;
};

namespace receive {

// Implement the functions of `device` and `matched_message` with these names; the arguments have been checked.
[[nodiscard]] status post_receive(device_state& dev, const receive_request& request);
// `is_busy`: whether another thread holds the lock; then nothing is found.
[[nodiscard]] unexpected_message* probe(device_state& dev, const receive_request& request, bool& is_busy) noexcept;
[[nodiscard]] std::optional<message_envelope> peek(device_state& dev, const receive_request& request,
                                                   bool& is_busy) noexcept;
[[nodiscard]] status receive_message(device_state& dev, unexpected_message& probed,
                                     const receive_request& request) noexcept;
/// Drops a message that will not be received.
void discard(device_state& dev, unexpected_message& probed) noexcept;

/// Posts a receive when no operation of the set of receives is free; only if its message has arrived already.
[[nodiscard]] status receive_late(device_state& dev, const receive_request& request) noexcept;
/// A step of the backlog, for receives in the matching table. False: another thread holds the lock of the bucket, and
/// nothing has happened.
[[nodiscard]] bool try_match(device_state& dev, operation_state& receive) noexcept;
/// Delivers the unexpected message `message` to the receive that it has matched.
void deliver_unexpected(device_state& dev, operation_state& receive, unexpected_message& message) noexcept;

/// An operation to answer the sender of a message that will not be received; null if none is free.
[[nodiscard]] operation_state* operation_for_unwanted(device_state& dev) noexcept;
/// Answers that sender, by the backlog.
void answer_unwanted(device_state& dev, operation_state& answer, unexpected_message& unwanted) noexcept;
/// Answers the senders for which no operation was free before; returns how many.
[[nodiscard]] unsigned answer_all_unwanted(device_state& dev) noexcept;

}  // namespace receive

}  // namespace weft::core
