// SPDX-License-Identifier: BSD-3-Clause
// Messages through packets that one core fills and the other one empties, at one time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

#include "weft-perf/limits/bursts.hpp"
#include "weft-perf/limits/limits_memory.hpp"
#include "weft-perf/report/machine.hpp"

namespace weft::perf::limits {

// Packets that one core writes and the other reads, each counting its own.
struct packet_ring {
  alignas(64) std::atomic<std::uint64_t> written{0};
  alignas(64) std::atomic<std::uint64_t> read{0};
  alignas(64) std::atomic<bool> is_over{false};

  /// Whether the other side's count has come so far before it was over.
  [[nodiscard]] bool wait_until(const std::atomic<std::uint64_t>& count, std::uint64_t wanted) const noexcept {
    // [packet_copy.wait] acquire <- [packet_copy.written], [packet_copy.read]: the packet may be read, or written
    // again.
    for (std::uint32_t spins = 0; count.load(std::memory_order_acquire) < wanted;) {
      if (++spins % 1024 != 0) continue;
      // relaxed: nothing but the wish to stop.
      if (is_over.load(std::memory_order_relaxed)) return false;
      std::this_thread::yield();
    }
    return true;
  }
};

/// Messages of `bytes` bytes through `packets` packets: `fill(packet, offset, count)` by one core, `empty` alike by the
/// other one. Bytes per second.
template <class Fill, class Empty>
[[nodiscard]] double through_packets(std::size_t packets, std::size_t packet_bytes, std::size_t bytes, double seconds,
                                     const Fill& fill, const Empty& empty) {
  const std::size_t stride = (packet_bytes / 64 | 1) * 64;  // an odd number of lines, as Weft's packets have
  const touched_memory memory{packets * stride};
  packet_ring ring;
  const std::size_t pieces = bytes / packet_bytes;
  const std::jthread receiver{[&] {
    const pinned_here second{1};
    for (std::uint64_t i = 0; ring.wait_until(ring.written, i + 1); ++i) {
      empty(memory.data() + i % packets * stride, i % pieces * packet_bytes, packet_bytes);
      // [packet_copy.read] release -> [packet_copy.wait]: the packet has been read.
      ring.read.store(i + 1, std::memory_order_release);
    }
  }};
  const pinned_here first{0};
  const std::size_t repeats = repeats_for(packet_bytes);
  std::uint64_t sent = 0;
  std::uint64_t read_before = 0;
  const best_burst best = bursts_of(seconds, [&] {
    for (std::size_t i = 0; i < repeats; ++i, ++sent) {
      if (sent >= packets) (void)ring.wait_until(ring.read, sent + 1 - packets);
      fill(memory.data() + sent % packets * stride, sent % pieces * packet_bytes, packet_bytes);
      // [packet_copy.written] release -> [packet_copy.wait]: the bytes of the packet.
      ring.written.store(sent + 1, std::memory_order_release);
    }
    // Both sides have done so much: packets that one side finds ready are no speed of the other.
    const std::uint64_t read = ring.read.load(std::memory_order_relaxed);  // [stat]
    const std::uint64_t both = std::min<std::uint64_t>(repeats, read - std::exchange(read_before, read));
    return static_cast<double>(both * packet_bytes);
  });
  // relaxed: nothing but the wish to stop.
  ring.is_over.store(true, std::memory_order_relaxed);
  return best.rate();
}

/// The best of several numbers of packets. Few stay in the caches of the cores, many leave them before they are written
/// again. Which is faster depends on the machine (docs/decisions/packet-copies.md).
template <class Fill, class Empty>
[[nodiscard]] double best_through_packets(std::size_t bytes, double seconds, const Fill& fill, const Empty& empty) {
  constexpr std::size_t packet_bytes_max = std::size_t{8} << 10;
  double best = 0;
  for (const std::size_t packets : {16U, 64U, 512U}) {
    best = std::max(best, through_packets(packets, std::min(bytes, packet_bytes_max), bytes, seconds / 3, fill, empty));
  }
  return best;
}

}  // namespace weft::perf::limits
