// SPDX-License-Identifier: BSD-3-Clause
// The packets of a runtime (dang2016, 3.3; yan2025-lci, 5.1.2).
//
// Cost of a get or put in the common case: the calling thread's cache of a few packets, without an atomic access; every
// fourth time its own deque, one exchange in its own processor cache. If the deque is empty, the pool takes some
// packets never used before, then packets that peers have returned, then others never used before, then half of another
// thread's. The first call of a thread allocates its deque. Cached packets can't be stolen: all threads together cache
// at most a sixteenth of the pool.
//
// For many bytes that a peer reads in place, the packet that was free for longest is best: if a packet is written again
// right after its return, each line has to be fetched from the core that has just read it. If a thread cycles through 1
// to 4 MiB of packets instead (its round), both copies find their lines in the cache that the cores share. Windows of
// 2, 4, 8 KiB between two near cores of Zen 4 (1 MiB of cache each) went from 8.6, 7.3, 6.8 GB/s to 10.6, 5.6 to 18, 16
// to 28; a single message from 0.42, 0.67, 1.31 us one way to 0.35, 0.48, 0.82; 1 KiB did not change. It costs an
// exchange, and more pages that are touched for the first time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/assertion.hpp"
#include "core/memory/index_stack.hpp"
#include "core/memory/packet_caches.hpp"
#include "core/memory/packet_deque.hpp"
#include "net/transport.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::core {

class packet_pool final : public net::packet_store, private detail::payload_owner {
 public:
  /// `memory` holds `count` packets of `packet_bytes`, `net::packet_stride` apart.
  packet_pool(std::byte* memory, std::uint32_t count, std::uint32_t packet_bytes);
  ~packet_pool();

  /// Sets the transport that gives packets that peers have returned, for when the pool has none.
  void reclaim_from(net::memory_sharing& source) noexcept { source_ = &source; }

  [[nodiscard]] std::uint32_t try_get() noexcept override {
    const std::uint32_t slot = detail::this_thread_slot();
    if (caches_.has(slot) && !caches_.cache_of(slot).is_empty()) return caches_.cache_of(slot).take();
    return get_more(slot);
  }

  /// A packet for a message of `bytes` bytes.
  [[nodiscard]] std::uint32_t try_get_for(std::uint64_t bytes) noexcept {
    return bytes < cold_from_bytes || source_ == nullptr ? try_get() : get_cold(bytes);
  }

  void put(std::uint32_t packet) noexcept override {
    WEFT_ASSERT_CHECKED(packet < count_);
    const std::uint32_t slot = detail::this_thread_slot();
    if (caches_.has(slot) && !caches_.cache_of(slot).is_full()) {
      caches_.cache_of(slot).put(packet);
    } else {
      put_away(slot, packet);
    }
  }

  // Packets that the user holds, and has to give back before the pool is destroyed.
  void count_taken() noexcept { caches_.add(packet_caches::tally::taken, 1); }
  void uncount_taken() noexcept { caches_.add(packet_caches::tally::taken, -1); }
  /// **Threads**: one, when no thread posts any more.
  [[nodiscard]] std::uint32_t taken() const noexcept { return caches_.sum(packet_caches::tally::taken); }
  // Packets that hold arrived messages and have not come back, counted in the same way.
  void count_lent(std::int32_t change) noexcept override { caches_.add(packet_caches::tally::lent, change); }
  [[nodiscard]] std::uint32_t lent() const noexcept { return caches_.sum(packet_caches::tally::lent); }

  /// Whether no packet is free twice. Takes all free packets: for the end, when no other thread uses the pool.
  /// Packets that peers have borrowed may never come back.
  [[nodiscard]] bool is_consistent() noexcept;

  [[nodiscard]] std::byte* data(std::uint32_t packet) const noexcept override { return memory_ + packet * stride_; }
  [[nodiscard]] detail::payload_owner& owner() noexcept override { return *this; }
  [[nodiscard]] std::uint32_t packet_bytes() const noexcept { return packet_bytes_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

 private:
  void release(void* payload, std::size_t /*bytes*/) noexcept override {
    WEFT_ASSERT_CHECKED(payload >= memory_ && payload < memory_ + count_ * stride_);
    count_lent(-1);
    put(static_cast<std::uint32_t>(static_cast<std::size_t>(static_cast<std::byte*>(payload) - memory_) / stride_));
  }

  static constexpr std::uint64_t cold_from_bytes = 2048;
  // A thread takes so many fresh packets, or as many as a round has, before it reclaims any: if they are reclaimed one
  // by one, the line in which they return moves between the cores for each message (docs/decisions/packets.md).
  static constexpr std::uint32_t short_round_max = 64;
  // The packets of a thread's round, and the bytes in them, at most.
  static constexpr std::uint32_t round_max = 512;
  static constexpr std::uint64_t round_bytes = std::uint64_t{4} << 20;

  // Null for a thread without a slot, or while there is no memory for its deque.
  [[nodiscard]] packet_deque* own_deque(std::uint32_t slot) noexcept {
    if (slot >= detail::thread_slots_max) return nullptr;
    // [pool.own] acquire <- [pool.adopt]: an earlier thread of this slot made it.
    packet_deque* own = deques_[slot].load(std::memory_order_acquire);
    return own != nullptr ? own : make_deque(slot);
  }

  [[nodiscard]] bool may_extend_round(std::uint32_t slot) noexcept {
    return caches_.has(slot) && caches_.cache_of(slot).in_round < std::min(round_, short_round_max);
  }
  [[nodiscard]] std::uint32_t get_more(std::uint32_t slot) noexcept;
  [[nodiscard]] std::uint32_t get_cold(std::uint64_t bytes) noexcept;
  [[nodiscard]] std::uint32_t get_from(packet_deque& own, std::uint32_t slot) noexcept;
  void put_away(std::uint32_t slot, std::uint32_t packet) noexcept;
  packet_deque* make_deque(std::uint32_t slot) noexcept;
  std::uint32_t take_fresh() noexcept;
  std::uint32_t steal(packet_deque* own) noexcept;

  std::byte* memory_;
  std::size_t stride_;
  std::uint32_t count_;
  std::uint32_t packet_bytes_;
  std::uint32_t round_;  // `round_max`, or an eighth of a small pool
  net::memory_sharing* source_ = nullptr;
  index_stack strays_;
  packet_caches caches_;
  alignas(detail::cache_line_bytes) std::atomic<std::uint32_t> fresh_{0};  // packets that were ever used
  std::atomic<std::uint32_t> slots_used_{0};                               // deques lie below this slot
  std::array<std::atomic<packet_deque*>, detail::thread_slots_max> deques_{};
};

}  // namespace weft::core
