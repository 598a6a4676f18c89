// Cache lines between two cores.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "weft-perf/limits.hpp"
#include "weft-perf/machine.hpp"

namespace weft::perf::limits {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

constexpr std::uint64_t ring_cells = 1024;
constexpr std::uint64_t credit_batch = 128;

struct alignas(64) cell {
  std::array<std::uint64_t, 7> payload;
  std::atomic<std::uint64_t> sequence;
};
static_assert(sizeof(cell) == 64);

struct ring {
  std::array<cell, ring_cells> cells;
  alignas(64) std::atomic<std::uint64_t> read{0};
  alignas(64) std::atomic<bool> enough{false};
};

// Reads whole cells; gives them back in batches.
std::uint64_t read_cells(ring& from) {
  std::uint64_t sum = 0;
  for (std::uint64_t position = 0;; ++position) {
    cell& next = from.cells[position % ring_cells];
    for (std::uint32_t spins = 0; next.sequence.load(std::memory_order_acquire) != position + 1;) {
      if (from.enough.load(std::memory_order_relaxed)) return sum;
      if (++spins % 8192 == 0) std::this_thread::yield();
    }
    for (const std::uint64_t word : next.payload) sum += word;
    if ((position + 1) % credit_batch == 0) from.read.store(position + 1, std::memory_order_release);
  }
}

// As many as Weft's rings have, so that both stay in the nearest cache.
constexpr std::uint64_t exchange_cells = 256;
using exchange_ring = std::array<cell, exchange_cells>;

void write_cell(exchange_ring& to, std::uint64_t position) {
  cell& next = to[position % exchange_cells];
  std::fill_n(next.payload.begin(), 3, position);  // header and eight bytes
  next.sequence.store(position + 1, std::memory_order_release);
}

// False: it is over.
bool await_cell(const exchange_ring& from, std::uint64_t position, const std::atomic<bool>& enough) {
  const cell& next = from[position % exchange_cells];
  for (std::uint32_t spins = 0; next.sequence.load(std::memory_order_acquire) != position + 1;) {
    if (++spins % 8192 != 0) continue;
    if (enough.load(std::memory_order_relaxed)) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

double cell_exchange(double seconds) {
  struct rings {
    exchange_ring there;
    exchange_ring back;
    std::atomic<bool> enough{false};
  };
  const auto both = std::make_unique<rings>();
  std::uint64_t position = 0;
  double took = 0;
  {
    const std::jthread answering{[&] {
      const pinned_here second{1};
      for (std::uint64_t i = 0; await_cell(both->there, i, both->enough); ++i) write_cell(both->back, i);
    }};
    const pinned_here first{0};
    const auto begin = clock::now();
    do {
      for (std::uint64_t i = 0; i < credit_batch; ++i, ++position) {
        write_cell(both->there, position);
        static_cast<void>(await_cell(both->back, position, both->enough));
      }
    } while ((took = seconds_since(begin)) < seconds);
    both->enough.store(true, std::memory_order_relaxed);
  }
  return took * 1e9 / (2 * static_cast<double>(position));
}

double cell_stream(double seconds) {
  const auto shared = std::make_unique<ring>();
  std::uint64_t position = 0;
  double took = 0;
  std::atomic<std::uint64_t> kept{0};  // what was read is used
  {
    const std::jthread reader{[&] {
      const pinned_here second{1};
      kept.store(read_cells(*shared), std::memory_order_relaxed);
    }};
    const pinned_here first{0};
    const auto begin = clock::now();
    do {
      for (std::uint64_t i = 0; i < credit_batch; ++i, ++position) {
        cell& next = shared->cells[position % ring_cells];
        for (std::uint32_t spins = 0; position >= shared->read.load(std::memory_order_acquire) + ring_cells;) {
          if (++spins % 8192 == 0) std::this_thread::yield();
        }
        next.payload.fill(position);
        next.sequence.store(position + 1, std::memory_order_release);
      }
    } while ((took = seconds_since(begin)) < seconds);
    shared->enough.store(true, std::memory_order_relaxed);
  }
  return static_cast<double>(position) / took;
}

double fetch_add(std::uint32_t threads, double seconds) {
  struct alignas(64) word {
    std::atomic<std::uint64_t> value{0};
  } shared;
  std::atomic<bool> enough{false};
  double took = 0;
  {
    const auto add = [&](std::uint32_t core) {
      const pinned_here here{core};
      while (!enough.load(std::memory_order_relaxed)) {
        for (int i = 0; i < 100; ++i) shared.value.fetch_add(1, std::memory_order_relaxed);
      }
    };
    std::jthread second;
    if (threads > 1) second = std::jthread{add, 1U};
    const std::jthread first{add, 0U};
    while (shared.value.load(std::memory_order_relaxed) == 0) std::this_thread::yield();
    const std::uint64_t before = shared.value.load(std::memory_order_relaxed);
    const auto begin = clock::now();
    std::uint64_t after = before;
    do {  // more than once where the adding threads had no processor
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      after = shared.value.load(std::memory_order_relaxed);
    } while (after == before);
    took = seconds_since(begin);
    enough.store(true, std::memory_order_relaxed);
    return static_cast<double>(after - before) / took;
  }
}

}  // namespace weft::perf::limits
