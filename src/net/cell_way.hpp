// The way of small messages through a ring of cells, as its sender sees it.
//
// Cost of a message of 8 bytes: the route's line, which is written when the peer's devices change, and the cell's; one
// exchange more where several threads share the device.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/try_lock.hpp"
#include "net/cell_ring.hpp"

namespace weft::net {

/// The sending side of one ring.
struct alignas(detail::cache_line_bytes) outgoing {
  outgoing(ring_control& control, std::uint32_t cells) noexcept
      : sender{control, reinterpret_cast<cell*>(&control + 1), cells} {}

  /// **Threads**: one at a time where the device isn't `shared`.
  [[gnu::always_inline]] post_result push(bool shared, const header& what, const void* payload, std::uint32_t bytes,
                                          bool carries_packet) noexcept {
    if (shared && !sending.try_enter()) return post_result::busy;
    const bool pushed = sender.try_push(what, payload, bytes, carries_packet);
    if (shared) sending.leave();
    return pushed ? post_result::ok : post_result::full;
  }

  base::try_lock sending;
  ring_sender sender;
};

/// The way of messages that name no device, for one peer: one cache line, written when the peer's devices change.
struct alignas(detail::cache_line_bytes) route {
  const std::atomic<std::uint64_t>* peer_live = nullptr;  // in the peer's segment
  std::atomic<std::uint64_t> live{0};                     // what it was when the way was found
  std::atomic<outgoing*> way{nullptr};

  /// Which of the peer's devices take messages.
  [[nodiscard]] std::uint64_t live_devices() const noexcept {
    // [device.live] acquire <- [device.open]: the device's slot serves its rings.
    return peer_live->load(std::memory_order_acquire);
  }

  /// The way, if it is known and the peer's devices are what they were; null otherwise. **Threads**: any.
  [[nodiscard]] outgoing* known_way() const noexcept {
    // [shm.route] acquire <- [shm.reroute]: the way that belongs to these live devices, or a newer one.
    if (live.load(std::memory_order_acquire) != live_devices()) return nullptr;
    // [shm.route_way] acquire <- [shm.reroute_way]: the ring is made.
    return way.load(std::memory_order_acquire);
  }
};

}  // namespace weft::net
