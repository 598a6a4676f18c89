// SPDX-License-Identifier: BSD-3-Clause
// What a post asks about its device before it takes the shortest path. It finds all of that, and whether its peer is a
// rank of the job, by one comparison.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::core {

class device_marks {
 public:
  device_marks(bool shared, std::uint32_t rank_count) noexcept
      : simple_ranks_{shared ? 0 : rank_count},
        unasked_ranks_{rank_count},
        rank_count_{rank_count},
        is_shared_{shared} {}

  [[nodiscard]] bool is_shared() const noexcept { return is_shared_; }
  /// **Threads**: none uses the device, and one at a time calls this or `look_at_addresses`.
  void set_shared(bool shared) noexcept {
    is_shared_ = shared;
    look_at_addresses(looks_at_addresses());
  }
  /// Whether posts have to ask kinds of memory whether an address is of theirs (memory_kinds.hpp).
  [[nodiscard]] bool looks_at_addresses() const noexcept { return !is_unasked_rank(0); }

  /// Whether `peer` is a rank, and `looks_at_addresses` is false.
  [[nodiscard]] bool is_unasked_rank(std::uint32_t peer) const noexcept {
    return peer < unasked_ranks_.load(std::memory_order_relaxed);  // [hint] see look_at_addresses
  }
  /// Whether, besides, the device is one thread's own.
  [[nodiscard]] bool is_simple_rank(std::uint32_t peer) const noexcept {
    return peer < simple_ranks_.load(std::memory_order_relaxed);  // [hint] see look_at_addresses
  }

  /// **Threads**: one at a time.
  void look_at_addresses(bool look) noexcept {
    // [hint] a buffer of a kind that is made meanwhile is none that a post may know
    unasked_ranks_.store(look ? 0 : rank_count_, std::memory_order_relaxed);
    simple_ranks_.store(look || is_shared_ ? 0 : rank_count_,
                        std::memory_order_relaxed);  // [hint] a post may see either first
  }

 private:
  std::atomic<std::uint32_t> simple_ranks_;   // all ranks, or 0
  std::atomic<std::uint32_t> unasked_ranks_;  // all ranks, or 0
  const std::uint32_t rank_count_;
  bool is_shared_;
};

}  // namespace weft::core
