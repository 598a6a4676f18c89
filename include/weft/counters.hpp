// What a device counts, in every build. The cost is told in src/core/device/device_counts.hpp.
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

/// How the bytes of operations travelled. Of the operations that were posted, all others went inline, beside the header
/// of a message, or were a plain copy into or out of mapped memory. Each is counted once, when all its bytes are moved.
struct path_counters {
  operation_counter one_packet;      ///< copied into a packet; counted by the device that sent it
  operation_counter many_packets;    ///< the receiver could not read the sender's memory; by the device that sent them
  operation_counter copied;          ///< from memory to memory, by one side; by the device that copied
  operation_counter copied_by_both;  ///< the same by sender and receiver together; by the receiver's device
};

/// What a device has counted since it was made. Each figure is exact once the threads that post and poll are done with
/// what they were at; together they are no snapshot.
struct device_counters {
  operation_counter active_messages;  ///< in packets of the user's, too; also those of `runtime::barrier`
  operation_counter sends;            ///< to receives
  operation_counter receives;         ///< bytes: of the buffers
  operation_counter puts;             ///< the copies into mapped memory included
  operation_counter gets;             ///< the copies out of mapped memory included
  operation_counter atomics;          ///< bytes: of the words

  path_counters message_paths;   ///< of active messages, and of sends and receives
  path_counters transfer_paths;  ///< of puts and gets

  /// Posts that were answered with *retry*, by reason: index it by a `shortage`, or ask `retries_for`.
  std::array<std::uint64_t, shortages> retries{};
  /// Those that had `reason`.
  [[nodiscard]] std::uint64_t retries_for(shortage reason) const noexcept {
    return retries[static_cast<std::size_t>(reason)];
  }

  std::uint64_t messages_arrived = 0;  ///< the library's own included: answers, signals, pieces of long messages
  std::uint64_t bytes_arrived = 0;     ///< with these messages; what is copied between processes directly isn't there
  std::uint64_t messages_refused = 0;  ///< times that a message found no room, and was left for a later call

  std::uint64_t progress_calls = 0;  ///< that polled
  std::uint64_t progress_moved = 0;  ///< of these, that moved something
  std::uint64_t progress_busy = 0;   ///< that found another thread polling, and returned

  std::uint64_t backlog = 0;      ///< operations that wait now for room, a lock, or their next step
  std::uint64_t backlog_max = 0;  ///< the most that ever waited at once
};

}  // namespace weft
