#include "net/shm/shm_port.hpp"

#include <cstring>
#include <new>

namespace weft::net::shm {

// First contact, or the peer's devices have changed: apart from the fast path, which so needs no registers saved.
post_result shm_port::push_slow(std::uint32_t peer, std::uint32_t device, const header& what, const void* payload,
                                std::uint32_t bytes) noexcept {
  outgoing* ring = own_->find_ring(peer, device);
  return ring == nullptr ? post_result::full : ring->push(shared_, what, payload, bytes);
}

post_result shm_port::try_send(std::uint32_t peer, std::uint32_t device, const header& what, std::uint32_t packet,
                               std::uint32_t bytes) noexcept {
  outgoing* ring = routes_[peer].known_ring(device);
  if (ring == nullptr) ring = own_->find_ring(peer, device);
  if (ring == nullptr) return post_result::full;
  // Lent before it is published, as the peer may return it before the push returns; and not where it doesn't go: a
  // wild peer would return what is still the caller's.
  const packet_reference reference{packet, bytes};
  return ring->push(shared_, what, &reference, sizeof reference, true, [&] { owner_->lend(packet, peer); });
}

void shm_port::look_for_rings() noexcept {
  // [shm.seen] acquire <- [shm.opened]: what is opened from here on is looked for again.
  opened_before_ = opened_->load(std::memory_order_acquire);
  bool found = is_list_old_;
  for (slot* served : served_) {
    found |= served->look_for_sources();
    if (served->has_missed_some()) opened_before_ = looked_never;
  }
  if (found) list_rings();
}

// Without memory for the list it stays as it was, and is made anew with the next look.
bool shm_port::list_rings() noexcept {
  std::size_t count = 0;
  for (slot* served : served_) count += served->sources().size();
  try {
    rings_.reserve(count);
  } catch (const std::bad_alloc&) {
    is_list_old_ = true;
    opened_before_ = looked_never;
    return false;
  }
  is_list_old_ = false;
  rings_.clear();
  for (slot* served : served_) {
    for (incoming& ring : served->sources()) rings_.push_back(&ring);
  }
  return true;
}

copy_result shm_port::read_remote(std::uint32_t peer, void* target, std::uint64_t remote, std::size_t bytes) noexcept {
  return owner_->peer_at(peer).read(target, remote, bytes);
}

copy_result shm_port::write_remote(std::uint32_t peer, const void* source, std::uint64_t remote,
                                   std::size_t bytes) noexcept {
  return owner_->peer_at(peer).write(source, remote, bytes);
}

}  // namespace weft::net::shm
