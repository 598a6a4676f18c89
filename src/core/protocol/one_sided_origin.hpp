// SPDX-License-Identifier: BSD-3-Clause
// Puts, gets and remote atomics at their origin.
#pragma once

#include <cstdint>

#include "core/device/device_state.hpp"
#include "core/operation/operation_state.hpp"

namespace weft::core {

/// A put, get or atomic to post.
struct transfer_request {
  operation opcode;
  std::uint32_t peer;
  remote_buffer remote;
  std::uint64_t bytes;
  completion* local;
  void* context;
  std::uint32_t device;
  std::uint32_t signal;
  std::uint64_t tag;
  bool delivered;
  bool allow_done;
  bool allow_retry;
  source_payload source = {};
  target_payload into = {};
  atomic_command atomic = {};
};

/// Puts and gets of up to so many bytes, of memory that is mapped here, are only a copy, done in the call.
inline constexpr std::size_t copied_in_call_max = std::size_t{64} << 10;

namespace one_sided_origin {

/// Implements `device::post_put`, `post_get` and `post_atomic`; the arguments have been checked.
[[nodiscard]] status post_transfer(device_state& dev, const transfer_request& request);

/// The result of a step.
enum class attempt : std::uint8_t { finished, waiting, stuck };
// Steps. If a step is stuck, `reason` says what is short.
[[nodiscard]] attempt transfer(device_state& dev, operation_state& operation, shortage& reason) noexcept;
[[nodiscard]] attempt ask(device_state& dev, operation_state& operation, shortage& reason) noexcept;
[[nodiscard]] attempt notify(device_state& dev, operation_state& operation) noexcept;
/// Called in the backlog: true once this device has nothing more to do for the operation.
[[nodiscard]] bool go_on(device_state& dev, operation_state& operation, attempt answer) noexcept;

}  // namespace one_sided_origin

}  // namespace weft::core
