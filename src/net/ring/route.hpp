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

/// Notes that a peer has packets of this rank's: only that peer can return them.
class packet_lender {
 public:
  packet_lender() noexcept = default;
  /// `borrowers` has a word for each packet: the rank that has it, plus 1; 0: no rank has it.
  packet_lender(std::atomic<std::uint32_t>* borrowers, std::uint32_t peer) noexcept
      : borrowers_{borrowers}, peer_{peer} {}

  void lend(std::uint32_t packet) const noexcept {
    // [shm.lend] release -> [shm.settle], [shm.take_back]: what was written into the packet. The peer's return passes
    // this on as well, but a faulty peer may not, and a sanitizer of this process does not see it.
    borrowers_[packet].store(peer_ + 1, std::memory_order_release);
  }

 private:
  std::atomic<std::uint32_t>* borrowers_ = nullptr;
  std::uint32_t peer_ = 0;
};

/// The sending side of one ring.
struct alignas(detail::cache_line_bytes) outgoing {
  outgoing(ring_control& control, std::uint32_t cells, sleep_word& receivers, packet_lender lending = {}) noexcept
      : sender{control, reinterpret_cast<cell*>(&control + 1), cells}, receiver{&receivers}, lender{lending} {}

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

  /// Pushes a message whose bytes lie in a packet, which belongs to the receiver after `ok`. `before_it_goes` as for
  /// `push`.
  template <class Call>
  [[gnu::always_inline]] post_result push_packet(bool shared, const net::header& header, packet_reference packet,
                                                 const Call& before_it_goes) noexcept {
    // Lent before the message is published, as the peer may return the packet before the push returns. Not lent if the
    // push fails: a faulty peer could otherwise return a packet that the caller still has.
    return push(shared, header, &packet, sizeof packet, true, [&] {
      if (!before_it_goes()) return false;
      lender.lend(packet.index);
      return true;
    });
  }

  base::try_lock sending;
  ring_sender sender;
  sleep_word* receiver;  // sleep word of the device at the other end
  packet_lender lender;
};
static_assert(sizeof(outgoing) == detail::cache_line_bytes);

/// The rings to one peer: one cache line, written when the peer's devices change, and one more for messages that name
/// their device.
struct alignas(detail::cache_line_bytes) route {
  const std::atomic<std::uint64_t>* peer_live = nullptr;  // lies in the peer's segment
  std::atomic<std::uint64_t> live{0};                     // `*peer_live` when the ring was found
  std::atomic<outgoing*> ring{nullptr};                   // ring of messages that name no device
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
