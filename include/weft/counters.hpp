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

/// Operations that were posted, and posts that were answered *retry*.
struct post_counters {
  operation_counter active_messages{};  ///< includes those in a user's `packet`, and those of `runtime::barrier`
  operation_counter sends{};            ///< sends to receives
  operation_counter receives{};         ///< bytes: of the buffers
  operation_counter puts{};             ///< the copies into mapped memory included
  operation_counter gets{};             ///< the copies out of mapped memory included
  operation_counter atomics{};          ///< bytes: of the words
  /// Posts that were answered *retry*, by reason: index it by a `shortage`, or call `retries_for`.
  std::array<std::uint64_t, shortages> retries{};

  /// Posts that were answered *retry* for `reason`. **Blocking**: never. **Threads**: any. **Errors**: none.
  [[nodiscard]] std::uint64_t retries_for(shortage reason) const noexcept {
    return retries[static_cast<std::size_t>(reason)];
  }
};

/// Messages that arrived.
struct arrival_counters {
  std::uint64_t messages = 0;  ///< includes the library's own: RTS, RTR, FIN, signals, chunks of long messages
  std::uint64_t bytes = 0;     ///< of these messages; bytes copied from the memory of another process do not count
  std::uint64_t refusals = 0;  ///< times that a message found no room, and stayed for a later call
  /// Sends that came while an earlier one of the same rank, tag and engine waited for its receive, where nothing keeps
  /// their order: in an engine that is not `.ordered`. If it matters which one a receive gets, number them in the tag.
  std::uint64_t ambiguous_sends = 0;
};

/// Calls of `progress()`.
struct progress_counters {
  std::uint64_t calls = 0;  ///< calls that polled
  std::uint64_t moved = 0;  ///< calls of these that moved something
  std::uint64_t busy = 0;   ///< calls that found another thread polling, and returned false
};

/// The backlog: operations that wait for room, a lock, or their next step. The library's own answers count, so it may
/// be above 0 for a moment when all operations of the program are complete. **Blocking**: never. **Threads**: any.
/// **Errors**: none.
struct backlog_counters {
  std::uint64_t operations = 0;      ///< how many wait now
  std::uint64_t operations_max = 0;  ///< the most that ever waited at once

  /// The old meaning of `device_counters::backlog`.
  [[deprecated("use backlog.operations")]] [[nodiscard]] operator std::uint64_t() const noexcept { return operations; }
};

// Both compilers warn of deprecated fields also where they make a constructor of the struct.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// Counts of a device since it was made. A figure is exact once the calls of posting and polling threads have returned;
/// the figures together are no snapshot. **Blocking**: never. **Threads**: any. **Errors**: none.
struct device_counters {
  post_counters posts{};           ///< operations that were posted, and retries
  path_counters message_paths{};   ///< paths of active messages, and of sends and receives
  path_counters transfer_paths{};  ///< paths of puts and gets
  arrival_counters arrivals{};     ///< messages that arrived
  progress_counters progress{};    ///< calls of `progress()`
  backlog_counters backlog{};      ///< operations that wait

  // The old names: a device fills them, too, until 0.2. The reference does not show them.
  /// @cond
  [[deprecated("use posts.active_messages")]] operation_counter active_messages{};
  [[deprecated("use posts.sends")]] operation_counter sends{};
  [[deprecated("use posts.receives")]] operation_counter receives{};
  [[deprecated("use posts.puts")]] operation_counter puts{};
  [[deprecated("use posts.gets")]] operation_counter gets{};
  [[deprecated("use posts.atomics")]] operation_counter atomics{};
  [[deprecated("use posts.retries")]] std::array<std::uint64_t, shortages> retries{};
  [[deprecated("use posts.retries_for()")]] [[nodiscard]] std::uint64_t retries_for(shortage reason) const noexcept {
    return posts.retries_for(reason);
  }
  [[deprecated("use arrivals.messages")]] std::uint64_t messages_arrived = 0;
  [[deprecated("use arrivals.bytes")]] std::uint64_t bytes_arrived = 0;
  [[deprecated("use arrivals.refusals")]] std::uint64_t messages_refused = 0;
  [[deprecated("use arrivals.ambiguous_sends")]] std::uint64_t ambiguous_sends = 0;
  [[deprecated("use progress.calls")]] std::uint64_t progress_calls = 0;
  [[deprecated("use progress.moved")]] std::uint64_t progress_moved = 0;
  [[deprecated("use progress.busy")]] std::uint64_t progress_busy = 0;
  [[deprecated("use backlog.operations_max")]] std::uint64_t backlog_max = 0;
  /// @endcond
};

#pragma GCC diagnostic pop

}  // namespace weft
