// SPDX-License-Identifier: BSD-3-Clause
// The rings of a device's endpoint: it posts into some, and polls the others, which peers opened to its slots. This is
// the part of the endpoint that does not depend on its sink.
//
// Cost of a post: one cache line, and one exchange on a shared device. Cost of a quiet poll: a line for each ring and
// one that tells of new rings, all in this core's cache.
#pragma once

#include <vector>

#include "net/shm/shm_transport.hpp"

namespace weft::net::shm {

class endpoint_rings {
 public:
  endpoint_rings(shm_transport& owner, slot& own, bool shared)
      : owner_{&owner}, opened_{&owner.opened()}, own_{&own}, routes_{own.routes()}, shared_{shared} {
    served_.reserve(slots_max);
    served_.push_back(&own);
    list_rings();
  }

  [[nodiscard]] post_result try_send_inline(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                            const void* payload, std::uint32_t bytes) noexcept {
    outgoing* ring = routes_[peer].known_ring(device);
    if (ring == nullptr) [[unlikely]]
      return push_slow(peer, device, header, payload, bytes);
    return ring->push(shared_, header, payload, bytes);
  }
  [[nodiscard]] const route* route_to(std::uint32_t peer) const noexcept { return &routes_[peer]; }
  [[nodiscard]] post_result try_send(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                     std::uint32_t packet, std::uint32_t bytes) noexcept;
  void adopt(std::uint32_t index) noexcept {
    served_.push_back(&owner_->slot_at(index));
    list_rings();
    opened_before_ = looked_never;  // so that the next poll looks for rings to that slot
  }
  void set_shared(bool shared) noexcept { shared_ = shared; }
  void release(std::uint32_t index) noexcept {
    std::erase(served_, &owner_->slot_at(index));
    if (!list_rings()) polled_.clear();
  }

  // Functions that polls use.
  [[nodiscard]] const std::vector<incoming*>& polled() const noexcept { return polled_; }
  [[nodiscard]] shm_transport& owner() noexcept { return *owner_; }
  /// Whether a peer may have opened a ring since the last look.
  [[nodiscard]] bool has_news() const noexcept {
    // [shm.news] acquire <- [shm.opened]: the words in which peers say which rings they have opened.
    return opened_->load(std::memory_order_acquire) != opened_before_;
  }
  [[nodiscard]] bool has_arrivals_from(std::uint32_t peer) const noexcept;
  /// Whether there is a message in a ring to the device's own slot. **Threads**: any.
  [[nodiscard]] bool hold_unread() const noexcept { return own_->holds_unread(); }
  /// Finds rings that peers have opened since the last look.
  void look_for_rings() noexcept;

 private:
  // Called for the first message to a peer, and after its devices have changed.
  [[nodiscard]] [[gnu::noinline]] post_result push_slow(std::uint32_t peer, std::uint32_t device,
                                                        const net::header& header, const void* payload,
                                                        std::uint32_t bytes) noexcept;

  bool list_rings() noexcept;

  shm_transport* owner_;
  const std::atomic<std::uint64_t>* opened_;
  static constexpr std::uint64_t looked_never = ~std::uint64_t{0};
  std::uint64_t opened_before_ = looked_never;  // `*opened_` at the last look
  bool is_list_old_ = false;                    // there was no memory for a new list
  slot* own_;
  route* routes_;  // routes of own_
  bool shared_;
  std::vector<slot*> served_;
  std::vector<incoming*> polled_;  // rings of all served slots
};

}  // namespace weft::net::shm
