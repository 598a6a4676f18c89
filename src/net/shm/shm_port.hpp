// A device's share of shared memory: posts into rings of peers, polls the rings that peers opened to its slots.
//
// Cost of a post: one cache line, and one exchange on a shared device. Cost of a quiet poll: a line for each ring and
// one for every eight ranks, all in this core's cache.
#pragma once

#include <vector>

#include "net/shm/shm_transport.hpp"

namespace weft::net::shm {

class shm_port {
 public:
  shm_port(shm_transport& owner, slot& own, bool shared)
      : owner_{&owner}, own_{&own}, routes_{own.routes()}, shared_{shared} {
    served_.push_back(&own);
    list_rings();
  }

  [[nodiscard]] post_result try_inject(std::uint32_t peer, std::uint32_t device, const header& what,
                                       const void* payload, std::uint32_t bytes) noexcept {
    outgoing* way = known_way(peer, device);
    if (way == nullptr) [[unlikely]]
      return push_anew(peer, device, what, payload, bytes, false);
    return way->push(shared_, what, payload, bytes, false);
  }
  [[nodiscard]] const route* route_to(std::uint32_t peer) const noexcept { return &routes_[peer]; }
  [[nodiscard]] post_result try_send(std::uint32_t peer, std::uint32_t device, const header& what, std::uint32_t packet,
                                     std::uint32_t bytes) noexcept;
  [[nodiscard]] copy_result read_remote(std::uint32_t peer, void* target, std::uint64_t remote,
                                        std::size_t bytes) noexcept;
  [[nodiscard]] copy_result write_remote(std::uint32_t peer, const void* source, std::uint64_t remote,
                                         std::size_t bytes) noexcept;
  void adopt(std::uint32_t index) {
    served_.push_back(&owner_->slot_at(index));
    list_rings();
  }
  void release(std::uint32_t index) noexcept {
    std::erase(served_, &owner_->slot_at(index));
    list_rings();
  }

  // For polling.
  [[nodiscard]] const std::vector<incoming*>& rings() const noexcept { return rings_; }
  [[nodiscard]] shm_transport& owner() noexcept { return *owner_; }
  /// Finds rings that peers have opened since the last look.
  void look_for_rings() noexcept;

 private:
  // Null for a message that names a device: its way is looked up.
  [[nodiscard]] outgoing* known_way(std::uint32_t peer, std::uint32_t device) const noexcept {
    return device == any_device ? routes_[peer].known_way() : nullptr;
  }

  // First contact, or the peer's devices have changed: apart, so that the fast path needs no registers saved.
  [[nodiscard]] [[gnu::noinline]] post_result push_anew(std::uint32_t peer, std::uint32_t device, const header& what,
                                                        const void* payload, std::uint32_t bytes,
                                                        bool carries_packet) noexcept;

  void list_rings() noexcept;

  shm_transport* owner_;
  slot* own_;
  route* routes_;  // of own_
  bool shared_;
  std::vector<slot*> served_;
  std::vector<incoming*> rings_;  // of all served slots
};

}  // namespace weft::net::shm
