// SPDX-License-Identifier: BSD-3-Clause
// What measurements of copies share: memory that is there before the clock starts, and two sides that take turns.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <thread>

#include "weft-perf/report/clock.hpp"

namespace weft::perf::limits {

/// Whole pages, as `buffers` of messages have them, each written once.
class touched_memory {
 public:
  explicit touched_memory(std::size_t bytes)
      : bytes_{bytes}, memory_{static_cast<std::byte*>(::operator new (bytes, std::align_val_t{4096}))} {
    touch();
  }
  /// Writes every byte; after a fork, each process so gets pages of its own.
  void touch() const noexcept { std::memset(memory_.get(), 1, bytes_); }
  [[nodiscard]] std::byte* data() const noexcept { return memory_.get(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct free_pages {
    void operator()(std::byte* memory) const noexcept { ::operator delete (memory, std::align_val_t{4096}); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, free_pages> memory_;
};

/// Steps of two sides, one after the other: even ones are the first side's.
class alignas(64) alternation {
 public:
  /// False: it is over.
  [[nodiscard]] bool wait_for(std::uint64_t wanted) const noexcept {
    std::uint64_t seen;
    // [alternation.wait] acquire <- [alternation.reach]: the memory that the other side has written or read.
    for (std::uint32_t spins = 0; (seen = step_.load(std::memory_order_acquire)) < wanted;) {
      if (++spins % 1024 == 0) std::this_thread::yield();
    }
    return seen != over;
  }
  void reach(std::uint64_t next) noexcept {
    // [alternation.reach] release -> [alternation.wait]: the memory that this side has written or read.
    step_.store(next, std::memory_order_release);
  }
  void end() noexcept { reach(over); }

 private:
  static constexpr std::uint64_t over = ~std::uint64_t{0};
  std::atomic<std::uint64_t> step_{0};
};

/// How many copies are made between two looks at the clock, or at the other side: some tens of microseconds' worth.
[[nodiscard]] inline std::size_t repeats_for(std::size_t bytes) noexcept {
  return std::max<std::size_t>(1, (std::size_t{512} << 10) / bytes);
}

}  // namespace weft::perf::limits
