// SPDX-License-Identifier: BSD-3-Clause
// Cancelling posted operations: one by its ticket, or all that will signal an object or wait in an engine.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/completion.hpp"

namespace weft::core {

class device_state;
struct engine_state;

/// The state of an operation that is to be cancelled.
enum class cancel_answer : std::uint8_t {
  cancelled,  // its completion is signalled with the error `cancelled`
  too_late,   // it is complete, or has matched
  asked,      // its peer decides: the completion has the outcome, and there is nothing to repeat
  busy,       // not known yet: make progress, and try again
};

namespace cancel {

/// Implements `device::cancel`.
[[nodiscard]] cancel_answer single(device_state& dev, std::uint64_t ticket) noexcept;

/// Operations that are cancelled together: all that will signal `target`, or all that wait in `engine`.
struct group {
  const completion* target = nullptr;
  const engine_state* engine = nullptr;
  bool is_told = true;  // false: an operation that can be cancelled now is not signalled
};
/// Cancels those posts and receives of a group that can be cancelled now; to be repeated until there are none.
void all(device_state& dev, const group& which) noexcept;
/// The posts and receives that will signal `target`. **Threads**: any; operations that begin or end meanwhile may be
/// missed, or be listed with fields of an older or later use. **Errors**: std::bad_alloc.
struct posted_operation {
  operation opcode;
  std::uint32_t peer;
  std::uint64_t tag;
  std::uint64_t ticket;
};
[[nodiscard]] std::vector<posted_operation> list(device_state& dev, const completion& target);

}  // namespace cancel

}  // namespace weft::core
