// SPDX-License-Identifier: BSD-3-Clause
// Loops that pack and unpack, by two cores at one time.
#include <atomic>
#include <thread>

#include "weft-perf/limits/bursts.hpp"
#include "weft-perf/limits/limits.hpp"
#include "weft-perf/limits/limits_memory.hpp"
#include "weft-perf/limits/packet_copies.hpp"
#include "weft-perf/report/machine.hpp"

namespace weft::perf::limits {
namespace {

// Messages that the second core is to do, and has done.
struct messages_of_both {
  alignas(64) std::atomic<std::uint64_t> begun{0};
  alignas(64) std::atomic<std::uint64_t> ended{0};
  alignas(64) std::atomic<bool> is_over{false};

  // Whether `count` has come so far before it was over.
  [[nodiscard]] bool wait(const std::atomic<std::uint64_t>& count, std::uint64_t wanted) const noexcept {
    // [blocks.wait] acquire <- [blocks.begin], [blocks.end]: the other core begins, or has done, its message.
    for (std::uint32_t spins = 0; count.load(std::memory_order_acquire) < wanted;) {
      if (++spins % 1024 != 0) continue;
      // relaxed: nothing but the wish to stop.
      if (is_over.load(std::memory_order_relaxed)) return false;
      std::this_thread::yield();
    }
    return true;
  }
};

}  // namespace

double pack_beside_unpack(const block_loops& loops, std::size_t bytes, double seconds) {
  const touched_memory packed{bytes};
  const touched_memory blocks{loops.memory_bytes(bytes)};
  messages_of_both messages;
  const std::jthread second{[&] {
    const touched_memory arrived{bytes};
    const touched_memory into{loops.memory_bytes(bytes)};
    const pinned_here there{1};
    for (std::uint64_t i = 1; messages.wait(messages.begun, i); ++i) {
      loops.unpack(into.data(), 0, arrived.data(), bytes);
      asm volatile("" : : "r"(into.data()) : "memory");
      // [blocks.end] release -> [blocks.wait]: the message is unpacked.
      messages.ended.store(i, std::memory_order_release);
    }
  }};
  const pinned_here first{0};
  std::uint64_t number = 0;
  const best_burst best = bursts_of(seconds, [&] {
    // [blocks.begin] release -> [blocks.wait]: the message begins.
    messages.begun.store(++number, std::memory_order_release);
    loops.pack(blocks.data(), 0, packed.data(), bytes);
    asm volatile("" : : "r"(packed.data()) : "memory");
    (void)messages.wait(messages.ended, number);
    return static_cast<double>(bytes);
  });
  // relaxed: nothing but the wish to stop.
  messages.is_over.store(true, std::memory_order_relaxed);
  return best.rate();
}

double pack_and_unpack(const block_loops& loops, std::size_t bytes, double seconds) {
  const touched_memory from{loops.memory_bytes(bytes)};
  const touched_memory to{loops.memory_bytes(bytes)};
  return best_through_packets(
      bytes, seconds,
      [&](std::byte* packet, std::size_t offset, std::size_t count) {
        loops.pack(from.data(), offset, packet, count);
        asm volatile("" : : "r"(packet) : "memory");
      },
      [&](const std::byte* packet, std::size_t offset, std::size_t count) {
        loops.unpack(to.data(), offset, packet, count);
        asm volatile("" : : "r"(to.data()) : "memory");
      });
}

}  // namespace weft::perf::limits
