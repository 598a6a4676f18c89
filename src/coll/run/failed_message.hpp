// SPDX-License-Identifier: BSD-3-Clause
// The messages of a member whose part of a collective has failed. Other members wait for them, so it sends all of them,
// each longer than its receive: the receive ends with `truncated`, and so its member fails, too.
#pragma once

#include <cstdint>

#include "weft/buffer.hpp"
#include "weft/completion.hpp"

namespace weft::coll {

/// A hint for errors of a group whose members don't compare their calls.
inline constexpr const char* hint_of_other_calls =
    ". If members may call different collectives, or with different sizes: WEFT_CHECK=1 compares their calls and names "
    "both";

/// Bytes that no other message has too many. With those of a short body (short_collective.hpp) they fit into any
/// packet.
inline constexpr std::uint64_t failed_message_excess = 23;

/// The message that is sent instead of one of `bytes` bytes. It has no memory.
[[nodiscard]] const_buffer_ref failed_message(std::uint64_t bytes);

/// Whether a receive of `bytes` bytes has met one.
[[nodiscard]] inline bool is_failed_message(const completion_record& received, std::uint64_t bytes) noexcept {
  return received.error() == errc::truncated && received.message_bytes() == bytes + failed_message_excess;
}

}  // namespace weft::coll
