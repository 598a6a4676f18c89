// SPDX-License-Identifier: BSD-3-Clause
// The counters of a device, in every build. Their cost: src/core/device/device_counts.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/status.hpp"

namespace weft {

/// Operations of one kind that were posted (answered *done* or *posted*), and their bytes.
struct operation_counter {
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;
};

/// How the bytes of operations were moved. An operation is counted once, when all its bytes are moved. Not counted
/// here: inline messages, and puts and gets that are one copy into or out of mapped memory. A message in one packet is
/// eager; the other three cases are rendezvous.
struct path_counters {
  operation_counter one_packet;      ///< copied into a packet; counted by the device that sent it
  operation_counter many_packets;    ///< one side could not read the other's memory; by the device that sent them
  operation_counter copied;          ///< copied from memory to memory by one side; counted by the device that copied
  operation_counter copied_by_both;  ///< copied from memory to memory by both sides; counted by the receiver's device
};

/// Counts of a device since it was made. A figure is exact once the calls of posting and polling threads have returned;
/// the figures together are no snapshot.
struct device_counters {
  operation_counter active_messages;  ///< includes those in a user's `packet`, and those of `runtime::barrier`
  operation_counter sends;            ///< sends to receives
  operation_counter receives;         ///< bytes: of the buffers
  operation_counter puts;             ///< the copies into mapped memory included
  operation_counter gets;             ///< the copies out of mapped memory included
  operation_counter atomics;          ///< bytes: of the words

  path_counters message_paths;   ///< paths of active messages, and of sends and receives
  path_counters transfer_paths;  ///< paths of puts and gets

  /// Posts that were answered *retry*, by reason: index it by a `shortage`, or call `retries_for`.
  std::array<std::uint64_t, shortages> retries{};
  /// Posts that were answered *retry* for `reason`. **Blocking**: never. **Threads**: any. **Errors**: none.
  [[nodiscard]] std::uint64_t retries_for(shortage reason) const noexcept {
    return retries[static_cast<std::size_t>(reason)];
  }

  std::uint64_t messages_arrived = 0;  ///< includes the library's own: RTS, RTR, FIN, signals, chunks of long messages
  std::uint64_t bytes_arrived =
      0;  ///< carried by these messages; without bytes that one process copied from another's memory
  std::uint64_t messages_refused = 0;  ///< times that a message found no room, and stayed for a later call

  /// Sends that came while an earlier one of the same rank, tag and engine waited for its receive, where nothing keeps
  /// their order: in an engine that is not `.ordered`. If it matters which one a receive gets, number them in the tag.
  std::uint64_t ambiguous_sends = 0;

  std::uint64_t progress_calls = 0;  ///< calls of `progress()` that polled
  std::uint64_t progress_moved = 0;  ///< calls of these that moved something
  std::uint64_t progress_busy = 0;   ///< calls that found another thread polling, and returned false

  /// Operations in the backlog now: they wait for room, a lock, or their next step. Also answers of the library's own,
  /// so it may be above 0 for a moment when all operations of the program are complete.
  std::uint64_t backlog = 0;
  std::uint64_t backlog_max = 0;  ///< the most that ever waited at once
};

}  // namespace weft
