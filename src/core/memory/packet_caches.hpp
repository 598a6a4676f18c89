// SPDX-License-Identifier: BSD-3-Clause
// The few packets that each thread keeps for itself, and its counts of packets elsewhere. No other thread uses a
// thread's cache, so no access is atomic; the packets stay with the slot when the thread ends.
//
// A thread whose slot has no cache counts in words that all such threads share.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/assertion.hpp"
#include "weft/detail/atomics.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::core {

/// The cache of one thread, one cache line. The last packet is the warmest.
struct alignas(detail::cache_line_bytes) packet_cache {
  static constexpr std::uint32_t packets_max = 8;

  std::uint32_t count = 0;
  std::array<std::uint32_t, packets_max> packets;
  std::uint32_t in_round = 0;  // fresh packets that this thread has added to its round
  std::uint32_t taken = 0;     // packets that the user has taken
  std::uint32_t lent = 0;      // holding arrived messages

  [[nodiscard]] bool is_empty() const noexcept { return count == 0; }
  [[nodiscard]] bool is_full() const noexcept { return count == packets_max; }
  [[nodiscard]] std::uint32_t take() noexcept {
    WEFT_ASSERT_CHECKED(!is_empty());
    return packets[--count];
  }
  void put(std::uint32_t packet) noexcept {
    WEFT_ASSERT_CHECKED(!is_full());
    packets[count++] = packet;
  }
  /// The colder half of a full cache.
  [[nodiscard]] std::span<const std::uint32_t> colder_half() const noexcept {
    WEFT_ASSERT_CHECKED(is_full());
    return std::span{packets}.first(packets_max / 2);
  }
  /// All of them, the coldest first.
  [[nodiscard]] std::span<const std::uint32_t> all() const noexcept { return std::span{packets}.first(count); }
  void drop_all() noexcept { count = 0; }
  void drop_colder_half() noexcept {
    WEFT_ASSERT_CHECKED(is_full());
    std::copy(packets.begin() + packets_max / 2, packets.end(), packets.begin());
    count = packets_max / 2;
  }
};
static_assert(sizeof(packet_cache) == detail::cache_line_bytes);

class packet_caches {
 public:
  /// Packets that threads count.
  enum class tally : std::uint8_t { taken, lent };

  /// All caches together hold at most a sixteenth of `packets`.
  explicit packet_caches(std::uint32_t packets)
      : count_{std::min(packets / 16 / packet_cache::packets_max, detail::thread_slots_max)},
        caches_{std::make_unique<packet_cache[]>(count_)} {}

  /// Threads with a slot below it have a cache.
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] bool has(std::uint32_t slot) const noexcept { return slot < count_; }
  /// **Threads**: the one whose slot it is; at the end of the pool, any.
  [[nodiscard]] packet_cache& cache_of(std::uint32_t slot) noexcept {
    WEFT_ASSERT_CHECKED(has(slot));
    return caches_[slot];
  }

  // Each thread counts in words of its own. A thread may return packets that another one took, so only the sum
  // has a meaning.
  void add(tally count, std::int32_t change) noexcept {
    const std::uint32_t slot = detail::this_thread_slot();
    const auto more = static_cast<std::uint32_t>(change);
    if (has(slot)) {
      (count == tally::taken ? caches_[slot].taken : caches_[slot].lent) += more;
    } else {
      // [pool.count] relaxed: only the thread that destroys the runtime reads it, when nothing is counted any more.
      by_others_[static_cast<std::size_t>(count)].fetch_add(more, std::memory_order_relaxed);
    }
  }
  /// **Threads**: one, when no thread counts any more.
  [[nodiscard]] std::uint32_t sum(tally count) const noexcept {
    // [own] the runtime is being destroyed
    std::uint32_t out = by_others_[static_cast<std::size_t>(count)].load(std::memory_order_relaxed);
    for (const packet_cache& each : std::span{caches_.get(), count_})
      out += count == tally::taken ? each.taken : each.lent;
    return out;
  }

 private:
  std::uint32_t count_;
  std::unique_ptr<packet_cache[]> caches_;
  std::array<std::atomic<std::uint32_t>, 2> by_others_{};  // index: tally
};

}  // namespace weft::core
