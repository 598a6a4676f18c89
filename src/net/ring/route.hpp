// SPDX-License-Identifier: BSD-3-Clause
// The sender's side of a route: small messages go through a ring of cells.
//
// Cost of a message of 8 bytes: the route's line, which is written when the peer's devices change, the cell's line, and
// a look at the receiver's sleep word; one exchange more if several threads share the device.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/outside_order.hpp"
#include "base/try_lock.hpp"
#include "net/ring/cell_ring.hpp"
#include "net/ring/sleep_word.hpp"

namespace weft::net {

/// The sending side of one ring.
struct alignas(detail::cache_line_bytes) outgoing {
  outgoing(ring_control& control, std::uint32_t cells, sleep_word& receivers) noexcept
      : sender{control, reinterpret_cast<cell*>(&control + 1), cells}, receiver{&receivers} {}

  [[gnu::always_inline]] post_result push(bool shared, const net::header& header, const void* payload,
                                          std::uint32_t bytes) noexcept {
    return push(shared, header, payload, bytes, false, [] { return true; });
  }

  /// Calls `before_it_goes` once the ring has room, right before the message is published. If that answers false, the
  /// message is not sent, as if the ring were full.
  /// **Threads**: one at a time where the device isn't `shared`.
  template <class Call>
  [[gnu::always_inline]] post_result push(bool shared, const net::header& header, const void* payload,
                                          std::uint32_t bytes, bool carries_packet,
                                          const Call& before_it_goes) noexcept {
    if (shared && !sending.try_enter()) return post_result::busy;
    base::goes_out();
    const bool goes = sender.has_room() && before_it_goes();
    if (goes) [[likely]]
      sender.push(header, payload, bytes, carries_packet);
    if (shared) sending.leave();
    if (!goes) [[unlikely]]
      return post_result::full;
    if (receiver->is_left_asleep()) [[unlikely]]
      wake_sleepers(*receiver);
    return post_result::ok;
  }

  base::try_lock sending;
  ring_sender sender;
  sleep_word* receiver;  // of the device at the other end
};

/// The rings to one peer: one cache line, written when the peer's devices change, and one more for messages that name
/// their device.
struct alignas(detail::cache_line_bytes) route {
  const std::atomic<std::uint64_t>* peer_live = nullptr;  // in the peer's segment
  std::atomic<std::uint64_t> live{0};                     // `*peer_live` when the ring was found
  std::atomic<outgoing*> ring{nullptr};                   // of messages that name no device
  const std::atomic<outgoing*>* to_device = nullptr;      // slots_max rings, of messages that name a device

  /// Which of the peer's devices take messages.
  [[nodiscard]] std::uint64_t live_devices() const noexcept {
    // [device.live] acquire <- [device.open]: the device's slot serves its rings.
    return peer_live->load(std::memory_order_acquire);
  }

  /// The ring to `device`, if it is known and the peer's devices have not changed; else null. **Threads**: any.
  [[nodiscard]] outgoing* known_ring(std::uint32_t device) const noexcept {
    if (device != any_device) {
      // Another device takes the messages for one that does not live: the slow path finds it.
      if (device >= slots_max || (live_devices() >> device & 1) == 0) return nullptr;
      // [shm.device_ring] acquire <- [shm.make_ring]: the ring is made.
      return to_device[device].load(std::memory_order_acquire);
    }
    // [shm.route] acquire <- [shm.reroute]: the ring that belongs to these live devices, or a newer one.
    if (live.load(std::memory_order_acquire) != live_devices()) return nullptr;
    // [shm.route_ring] acquire <- [shm.reroute_ring]: the ring is made.
    return ring.load(std::memory_order_acquire);
  }
};

}  // namespace weft::net
