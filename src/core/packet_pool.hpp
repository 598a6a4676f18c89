// The packets of a runtime (dang2016, 3.3; yan2025-lci, 5.1.2).
//
// Cost of a get or put in the common case: a look into the few packets that the calling thread keeps at hand, without
// any atomic; every fourth one, its own deque, one exchange in its own cache. An empty deque is filled from what peers
// have returned, then with packets never used before, then with half of another thread's. The first call of a thread
// allocates its deque. What is at hand nobody can steal: all threads together keep at most a sixteenth of the pool so.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/index_stack.hpp"
#include "core/packet_deque.hpp"
#include "net/transport.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::core {

class packet_pool final : public net::packet_store, private detail::payload_owner {
 public:
  /// `memory` holds `count` packets of `packet_bytes`, `net::packet_stride` apart.
  packet_pool(std::byte* memory, std::uint32_t count, std::uint32_t packet_bytes);
  ~packet_pool();

  /// Whom to ask for packets that come back from peers, when there are none here.
  void reclaim_from(net::transport& source) noexcept { source_ = &source; }

  [[nodiscard]] std::uint32_t try_get() noexcept override {
    const std::uint32_t slot = detail::this_thread_slot();
    if (slot < hand_count_ && hands_[slot].count != 0) return hands_[slot].packets[--hands_[slot].count];
    return get_more(slot);
  }

  void put(std::uint32_t packet) noexcept override {
    const std::uint32_t slot = detail::this_thread_slot();
    if (slot < hand_count_ && hands_[slot].count != hand_max) {
      hands_[slot].packets[hands_[slot].count++] = packet;
    } else {
      put_away(slot, packet);
    }
  }

  [[nodiscard]] std::byte* data(std::uint32_t packet) const noexcept override { return memory_ + packet * stride_; }
  [[nodiscard]] detail::payload_owner& owner() noexcept override { return *this; }
  [[nodiscard]] std::uint32_t packet_bytes() const noexcept { return packet_bytes_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

 private:
  void release(void* payload, std::size_t /*bytes*/) noexcept override {
    put(static_cast<std::uint32_t>(static_cast<std::size_t>(static_cast<std::byte*>(payload) - memory_) / stride_));
  }

  // What a thread has at hand, and nobody else touches; it stays with the slot when the thread ends.
  static constexpr std::uint32_t hand_max = 8;
  struct alignas(detail::cache_line_bytes) hand {
    std::uint32_t count = 0;
    std::array<std::uint32_t, hand_max> packets;
  };

  // Null for a thread without a slot, or while there is no memory for its deque.
  [[nodiscard]] packet_deque* own_deque(std::uint32_t slot) noexcept {
    if (slot >= detail::thread_slots_max) return nullptr;
    // [pool.own] acquire <- [pool.adopt]: an earlier thread of this slot made it.
    packet_deque* own = deques_[slot].load(std::memory_order_acquire);
    return own != nullptr ? own : make_deque(slot);
  }

  [[nodiscard]] std::uint32_t get_more(std::uint32_t slot) noexcept;
  [[nodiscard]] std::uint32_t get_from(packet_deque& own, std::uint32_t slot) noexcept;
  void put_away(std::uint32_t slot, std::uint32_t packet) noexcept;
  packet_deque* make_deque(std::uint32_t slot) noexcept;
  std::uint32_t take_fresh() noexcept;
  std::uint32_t steal(packet_deque* own) noexcept;

  std::byte* memory_;
  std::size_t stride_;
  std::uint32_t count_;
  std::uint32_t packet_bytes_;
  net::transport* source_ = nullptr;
  index_stack strays_;
  std::uint32_t hand_count_;  // threads with a slot below it have one
  std::unique_ptr<hand[]> hands_;
  alignas(detail::cache_line_bytes) std::atomic<std::uint32_t> fresh_{0};  // packets that were ever used
  std::atomic<std::uint32_t> slots_used_{0};                               // deques lie below this slot
  std::array<std::atomic<packet_deque*>, detail::thread_slots_max> deques_{};
};

}  // namespace weft::core
