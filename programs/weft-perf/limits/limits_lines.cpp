// SPDX-License-Identifier: BSD-3-Clause
// Cache lines between two cores.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "weft-perf/limits/bursts.hpp"
#include "weft-perf/limits/handover.hpp"
#include "weft-perf/limits/limits.hpp"
#include "weft-perf/report/machine.hpp"

namespace weft::perf::limits {
namespace {

constexpr std::uint64_t credit_batch = 64;

struct ring {
  explicit ring(std::size_t count) : cells(count) {}

  std::vector<exchange_cell> cells;
  alignas(64) std::atomic<std::uint64_t> read{0};
  alignas(64) std::atomic<bool> enough{false};
};

// Reads whole cells; gives them back in batches.
std::uint64_t read_cells(ring& from) {
  std::uint64_t sum = 0;
  const std::size_t mask = from.cells.size() - 1;
  for (std::uint64_t position = 0;; ++position) {
    exchange_cell& next = from.cells[position & mask];
    // [cell_stream.poll] acquire <- [cell_stream.publish]: the payload of cell `position`.
    for (std::uint32_t spins = 0; next.sequence.load(std::memory_order_acquire) != position + 1;) {
      // relaxed: nothing but the wish to stop.
      if (from.enough.load(std::memory_order_relaxed)) return sum;
      if (++spins % 8192 == 0) std::this_thread::yield();
    }
    for (const std::uint64_t word : next.payload) sum += word;
    // [cell_stream.credit] release -> [cell_stream.room]: all cells before have been read.
    if ((position + 1) % credit_batch == 0) from.read.store(position + 1, std::memory_order_release);
  }
}

// Through a ring of `count` cells, a power of two.
double stream_through(std::size_t count, double seconds) {
  ring shared{count};
  std::uint64_t position = 0;
  std::uint64_t read_before = 0;
  std::atomic<std::uint64_t> kept{0};  // what was read is used
  const std::jthread reader{[&] {
    const pinned_here second{1};
    // relaxed: nobody reads it.
    kept.store(read_cells(shared), std::memory_order_relaxed);
  }};
  const pinned_here first{0};
  const best_burst best = bursts_of(seconds, [&] {
    constexpr std::uint64_t repeats = 4096;
    for (std::uint64_t i = 0; i < repeats; ++i, ++position) {
      exchange_cell& next = shared.cells[position & (count - 1)];
      // [cell_stream.room] acquire <- [cell_stream.credit]: cell `position` may be written again.
      for (std::uint32_t spins = 0; position >= shared.read.load(std::memory_order_acquire) + count;) {
        if (++spins % 8192 == 0) std::this_thread::yield();
      }
      next.payload.fill(position);
      // [cell_stream.publish] release -> [cell_stream.poll]: the payload of cell `position`.
      next.sequence.store(position + 1, std::memory_order_release);
    }
    // Both sides have done so much: cells that one side finds ready are no speed of the other.
    const std::uint64_t read = shared.read.load(std::memory_order_relaxed);  // [stat]
    return static_cast<double>(std::min(repeats, read - std::exchange(read_before, read)));
  });
  // relaxed: nothing but the wish to stop.
  shared.enough.store(true, std::memory_order_relaxed);
  return best.rate();
}

}  // namespace

double cell_stream(double seconds) {
  // A short ring stays in the nearest caches, a long one keeps both sides apart.
  return std::max(stream_through(256, seconds / 2), stream_through(1024, seconds / 2));
}

// Two threads begin each piece together: while only one of them has a processor, it would be faster than both.
double fetch_add(std::uint32_t threads, double seconds) {
  constexpr std::uint64_t repeats = 10'000;
  struct alignas(64) word {
    std::atomic<std::uint64_t> value{0};
  };
  word shared;
  word begun;  // pieces that the second thread is to do
  word ended;  // and has done
  std::atomic<bool> enough{false};
  const auto add = [&] {
    // relaxed: its cost is what is measured, and it orders nothing.
    for (std::uint64_t i = 0; i < repeats; ++i) shared.value.fetch_add(1, std::memory_order_relaxed);
  };
  const auto await = [&](const word& count, std::uint64_t wanted) {
    // [fetch_add.await] acquire <- [fetch_add.begin], [fetch_add.end]: the other thread begins, or has done, the piece.
    for (std::uint32_t spins = 0; count.value.load(std::memory_order_acquire) < wanted;) {
      if (++spins % 1024 != 0) continue;
      // relaxed: nothing but the wish to stop.
      if (enough.load(std::memory_order_relaxed)) return false;
      std::this_thread::yield();
    }
    return true;
  };
  std::jthread second;
  if (threads > 1) {
    second = std::jthread{[&] {
      const pinned_here there{1};
      for (std::uint64_t i = 1; await(begun, i); ++i) {
        add();
        // [fetch_add.end] release -> [fetch_add.await]: the second thread has done its piece.
        ended.value.store(i, std::memory_order_release);
      }
    }};
  }
  const pinned_here first{0};
  std::uint64_t piece = 0;
  const best_burst best = bursts_of(seconds, [&] {
    // [fetch_add.begin] release -> [fetch_add.await]: the first thread begins a piece.
    begun.value.store(++piece, std::memory_order_release);
    add();
    if (threads > 1) static_cast<void>(await(ended, piece));
    return static_cast<double>(threads * repeats);
  });
  // relaxed: nothing but the wish to stop.
  enough.store(true, std::memory_order_relaxed);
  return best.rate();
}

}  // namespace weft::perf::limits
