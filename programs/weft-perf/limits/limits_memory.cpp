// SPDX-License-Identifier: BSD-3-Clause
// Copies within a process: by one core, and through packets by two.
#include "weft-perf/limits/limits_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "weft-perf/limits/bursts.hpp"
#include "weft-perf/limits/limits.hpp"
#include "weft-perf/limits/packet_copies.hpp"
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
                       const std::size_t offset = copied % slots * bytes;
                       copy_once(to.data() + offset, from.data() + offset, bytes);
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

}  // namespace

double copy(state memory_state, std::size_t bytes, double seconds) {
  // More than the last cache holds, over and over.
  constexpr std::size_t arena = std::size_t{96} << 20;
  switch (memory_state) {
    case state::repeated: return copy_slots(bytes, 1, seconds);
    case state::fresh: return copy_slots(bytes, arena / bytes, seconds);
    case state::just_written: return copy_just_written(bytes, seconds);
  }
  return 0;
}

double copy_through_packets(std::size_t bytes, double seconds) {
  const touched_memory from{bytes};
  const touched_memory to{bytes};
  return best_through_packets(
      bytes, seconds,
      [&](std::byte* packet, std::size_t offset, std::size_t count) { copy_once(packet, from.data() + offset, count); },
      [&](const std::byte* packet, std::size_t offset, std::size_t count) {
        copy_once(to.data() + offset, packet, count);
      });
}

}  // namespace weft::perf::limits
