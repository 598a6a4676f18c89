// Copies within a process: by one core, and through packets by two.
#include "weft-perf/limits/limits_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "weft-perf/limits/bursts.hpp"
#include "weft-perf/limits/limits.hpp"
#include "weft-perf/report/machine.hpp"

namespace weft::perf::limits {
namespace {

// Adds up what lies there, so that it comes into the cache of the calling thread's core.
std::uint64_t look_through(const std::byte* bytes, std::size_t count) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; i += 64) sum += static_cast<std::uint64_t>(bytes[i]);
  return sum;
}

void copy_once(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
  asm volatile("" : : "r"(to) : "memory");
}

// From and to each of `slots` buffers in turn.
double copy_slots(std::size_t bytes, std::size_t slots, double seconds) {
  const touched_memory from{bytes * slots};
  const touched_memory to{bytes * slots};
  const pinned_here first{0};
  const std::size_t repeats = repeats_for(bytes);
  std::size_t copied = 0;
  return bursts_of(seconds,
                   [&] {
                     for (std::size_t i = 0; i < repeats; ++i, ++copied) {
                       const std::size_t at = copied % slots * bytes;
                       copy_once(to.data() + at, from.data() + at, bytes);
                     }
                     return static_cast<double>(repeats * bytes);
                   })
      .rate();
}

// The other core writes source and reads destination of all slots, then this one copies them.
double copy_just_written(std::size_t bytes, double seconds) {
  const std::size_t slots = repeats_for(bytes);
  const touched_memory from{bytes * slots};
  const touched_memory to{bytes * slots};
  alternation both;
  const std::jthread other{[&] {
    const pinned_here second{1};
    for (std::uint64_t step = 0; both.wait_for(step); step += 2) {
      std::memset(from.data(), static_cast<int>(step & 0x7f), from.bytes());
      volatile const std::uint64_t used = look_through(to.data(), to.bytes());
      (void)used;
      both.reach(step + 1);
    }
  }};
  const pinned_here first{0};
  best_burst best;
  std::uint64_t step = 0;
  const auto begin = clock::now();
  do {
    (void)both.wait_for(step + 1);
    const auto copying = clock::now();
    for (std::size_t slot = 0; slot < slots; ++slot) {
      copy_once(to.data() + slot * bytes, from.data() + slot * bytes, bytes);
    }
    best.add(static_cast<double>(slots * bytes), seconds_since(copying));
    both.reach(step += 2);
  } while (seconds_since(begin) < 2 * seconds);
  (void)both.wait_for(step + 1);
  both.end();
  return best.rate();
}

// Packets that one core writes and the other reads, each counting its own.
struct packet_ring {
  alignas(64) std::atomic<std::uint64_t> written{0};
  alignas(64) std::atomic<std::uint64_t> read{0};
  alignas(64) std::atomic<bool> is_over{false};
};

// Whether the other side's count has come so far before it was over.
bool wait_until(const std::atomic<std::uint64_t>& count, std::uint64_t wanted, const std::atomic<bool>& is_over) {
  // [packet_copy.wait] acquire <- [packet_copy.written], [packet_copy.read]: the packet may be read, or written again.
  for (std::uint32_t spins = 0; count.load(std::memory_order_acquire) < wanted;) {
    if (++spins % 1024 != 0) continue;
    // relaxed: nothing but the wish to stop.
    if (is_over.load(std::memory_order_relaxed)) return false;
    std::this_thread::yield();
  }
  return true;
}

double copy_through(std::size_t packets, std::size_t packet_bytes, std::size_t bytes, double seconds) {
  const std::size_t stride = (packet_bytes / 64 | 1) * 64;  // an odd number of lines, as Weft's packets have
  const touched_memory memory{packets * stride};
  const touched_memory from{bytes};
  const touched_memory to{bytes};
  packet_ring ring;
  const std::size_t pieces = bytes / packet_bytes;
  const std::jthread receiver{[&] {
    const pinned_here second{1};
    for (std::uint64_t i = 0; wait_until(ring.written, i + 1, ring.is_over); ++i) {
      copy_once(to.data() + i % pieces * packet_bytes, memory.data() + i % packets * stride, packet_bytes);
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
      if (sent >= packets) (void)wait_until(ring.read, sent + 1 - packets, ring.is_over);
      copy_once(memory.data() + sent % packets * stride, from.data() + sent % pieces * packet_bytes, packet_bytes);
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

}  // namespace

double copy(state of, std::size_t bytes, double seconds) {
  // More than the last cache holds, over and over.
  constexpr std::size_t arena = std::size_t{96} << 20;
  switch (of) {
    case state::repeated: return copy_slots(bytes, 1, seconds);
    case state::fresh: return copy_slots(bytes, arena / bytes, seconds);
    case state::just_written: return copy_just_written(bytes, seconds);
  }
  return 0;
}

double copy_through_packets(std::size_t bytes, double seconds) {
  constexpr std::size_t packet_bytes_max = std::size_t{8} << 10;
  const std::size_t packet_bytes = std::min(bytes, packet_bytes_max);
  // Few packets stay in the caches of the cores, many leave them before they are written again. Which is faster depends
  // on the machine (docs/decisions/packet-copies.md).
  double best = 0;
  for (const std::size_t packets : {16U, 64U, 512U}) {
    best = std::max(best, copy_through(packets, packet_bytes, bytes, seconds / 3));
  }
  return best;
}

}  // namespace weft::perf::limits
