// SPDX-License-Identifier: BSD-3-Clause
// What the machine allows, each between two threads (or processes) on the first two cores: the best of many short
// bursts within the given time (bursts.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft-perf/limits/block_loops.hpp"

namespace weft::perf::limits {

/// Cells of 64 bytes through a ring, one writer and one reader: cells per second.
[[nodiscard]] double cell_stream(double seconds);
/// Additions to one word by `threads` threads, 1 or 2: additions per second.
[[nodiscard]] double fetch_add(std::uint32_t threads, double seconds);

/// Where data is before it is copied.
enum class state : std::uint8_t {
  repeated,      ///< the same bytes as before, in the copying core's cache if they fit
  fresh,         ///< in no cache
  just_written,  ///< the other core has just written the source and read the destination
};
/// Copies of `bytes` bytes by one core: bytes per second.
[[nodiscard]] double copy(state memory_state, std::size_t bytes, double seconds);

/// Through packets: one core copies them in, the other one out, at the same time. Bytes per second.
[[nodiscard]] double copy_through_packets(std::size_t bytes, double seconds);

/// Messages of `bytes` bytes through packets: one core packs them out of blocks, the other one unpacks them into
/// blocks, at one time. Bytes per second.
[[nodiscard]] double pack_and_unpack(const block_loops& loops, std::size_t bytes, double seconds);
/// One core packs whole messages while the other one unpacks as many, each in memory of its own: no byte passes between
/// them. Bytes per second.
[[nodiscard]] double pack_beside_unpack(const block_loops& loops, std::size_t bytes, double seconds);

/// Copies between two processes by process_vm_readv; `both`: half each, by process_vm_writev as well. Bytes per
/// second; 0 where the system forbids it.
[[nodiscard]] double cross_memory_copy(bool both, std::size_t bytes, double seconds);

/// A thread sleeps in a futex until another wakes it: ns one way.
[[nodiscard]] double futex(double seconds);
/// Two threads of one core take turns by yielding: ns a turn.
[[nodiscard]] double yield(double seconds);

}  // namespace weft::perf::limits
