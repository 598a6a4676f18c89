// SPDX-License-Identifier: BSD-3-Clause
#include "net/shm/endpoint_rings.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace weft::net::shm {

// Called for the first message to a peer, and after its devices have changed. A separate function, so that the fast
// path saves no registers.
post_result endpoint_rings::push_slow(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                      const void* payload, std::uint32_t bytes) noexcept {
  outgoing* ring = own_->find_ring(peer, device);
  return ring == nullptr ? post_result::full : ring->push(shared_, header, payload, bytes);
}

post_result endpoint_rings::try_send(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                     std::uint32_t packet, std::uint32_t bytes) noexcept {
  outgoing* ring = routes_[peer].known_ring(device);
  if (ring == nullptr) ring = own_->find_ring(peer, device);
  if (ring == nullptr) return post_result::full;
  return ring->push_packet(shared_, header, {packet, bytes}, [] { return true; });
}

bool endpoint_rings::has_arrivals_from(std::uint32_t peer) const noexcept {
  return has_news() || std::ranges::any_of(polled_, [&](const incoming* ring) {
           return ring->rank == peer && ring->receiver.has_cell();
         });
}

void endpoint_rings::look_for_rings() noexcept {
  // [shm.seen] acquire <- [shm.opened]: rings opened after this load are found by the next look.
  opened_before_ = opened_->load(std::memory_order_acquire);
  bool found = is_list_old_;
  for (slot* served : served_) {
    found |= served->look_for_sources();
    if (served->has_missed_some()) opened_before_ = looked_never;
  }
  if (found) list_rings();
}

// If there is no memory for a new list, the old one stays, and the next look tries again.
bool endpoint_rings::list_rings() noexcept {
  std::size_t count = 0;
  for (slot* served : served_) count += served->sources().size();
  try {
    polled_.reserve(count);
  } catch (const std::bad_alloc&) {
    is_list_old_ = true;
    opened_before_ = looked_never;
    return false;
  }
  is_list_old_ = false;
  polled_.clear();
  for (slot* served : served_) {
    for (incoming& ring : served->sources()) polled_.push_back(&ring);
  }
  return true;
}

}  // namespace weft::net::shm
