// SPDX-License-Identifier: BSD-3-Clause
// How a device reaches each rank: by which endpoint, and by which ring where a short message can be pushed without a
// virtual call.
//
// Replies that wait for room at a rank go before new posts to it: else two ranks that flood each other would fill each
// cell that the other one frees with a request, and never send a reply. Cost to a post: one read.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/assertion.hpp"
#include "net/endpoint.hpp"
#include "net/ring/route.hpp"
#include "weft/device.hpp"

namespace weft::core {

class message_sink;

/// **Threads**: any, but for `use`, `has` and `become_copy`.
class routes {
 public:
  using endpoint = net::endpoint<message_sink>;
  /// The first bytes, which a post of a short message reads.
  static constexpr std::size_t hot_bytes = sizeof(std::uint64_t) + sizeof(void*);

  routes(std::uint32_t own_rank, std::uint32_t rank_count)
      : rank_count_{rank_count},
        own_rank_{own_rank},
        known_(rank_count),
        endpoint_of_(rank_count),
        waiting_replies_(rank_count) {
    WEFT_ASSERT(own_rank < rank_count);
  }

  [[nodiscard]] std::uint32_t rank_count() const noexcept { return rank_count_; }
  [[nodiscard]] std::uint32_t own_rank() const noexcept { return own_rank_; }

  /// Sets the endpoint that reaches `peer`. Called before the device is known to other threads, as `has`.
  void use(std::uint32_t peer, endpoint& reaching) noexcept {
    WEFT_ASSERT(peer < rank_count_ && !has(peer));
    endpoint_of_[peer] = &reaching;
    find(peer);
  }
  [[nodiscard]] bool has(std::uint32_t peer) const noexcept { return endpoint_of_[peer] != nullptr; }

  [[nodiscard]] endpoint& endpoint_to(std::uint32_t peer) noexcept {
    WEFT_ASSERT_CHECKED(peer < rank_count_);
    return *endpoint_of_[peer];
  }
  /// The ring to the target of a message, if there is one and it is known; else null.
  [[nodiscard]] [[gnu::always_inline]] net::outgoing* known_ring(detail::message_target to) const noexcept {
    WEFT_ASSERT_CHECKED(to.peer() < rank_count_);
    // [device.route] relaxed <- [device.hold_back]: carries nothing; the route was made before the device.
    const net::route* const known = known_[to.peer()].load(std::memory_order_relaxed);
    return known != nullptr ? known->known_ring(to.device()) : nullptr;
  }

  /// Sends a small message of the library's own.
  template <class Body>
  [[nodiscard]] net::post_result try_send_body(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                               const Body& body) noexcept {
    static_assert(sizeof(Body) <= detail::inline_bytes_max);
    return endpoint_to(peer).try_send_inline(peer, device, header, &body, sizeof body);
  }

  void hold_posts_back(std::uint32_t peer) noexcept {
    waiting_replies_[peer].fetch_add(1, std::memory_order_relaxed);  // [hint]
    // [device.hold_back] relaxed -> [device.route]: a post that misses it is only early.
    known_[peer].store(nullptr, std::memory_order_relaxed);
  }
  /// Ends one call of `hold_posts_back`.
  void let_posts_go(std::uint32_t peer) noexcept {
    const std::uint32_t before = waiting_replies_[peer].fetch_sub(1, std::memory_order_relaxed);  // [hint]
    WEFT_ASSERT_CHECKED(before != 0);
    if (before == 1) find(peer);
  }
  [[nodiscard]] bool holds_posts_back(std::uint32_t peer) const noexcept {
    return waiting_replies_[peer].load(std::memory_order_relaxed) != 0;  // [hint]
  }

  /// Sets another endpoint, as a bench does that scripts a peer. **Threads**: the only one that uses the device.
  void replace(std::uint32_t peer, endpoint& successor) noexcept {
    WEFT_ASSERT(peer < rank_count_ && has(peer));
    endpoint_of_[peer] = &successor;
    find(peer);
  }

  /// Makes every message take `refusing`, in a child of fork(). **Threads**: the only one of the process.
  void become_copy(endpoint& refusing) noexcept {
    for (endpoint*& each : endpoint_of_) each = &refusing;
    // [device.no_route] relaxed: the process has one thread.
    for (std::atomic<const net::route*>& each : known_) each.store(nullptr, std::memory_order_relaxed);
  }

 private:
  void find(std::uint32_t peer) noexcept {
    // [device.hold_back] relaxed -> [device.route]: the route was made before the device.
    known_[peer].store(endpoint_of_[peer]->route_to(peer), std::memory_order_relaxed);
  }

  std::uint32_t rank_count_;
  std::uint32_t own_rank_;
  // Index: rank.
  std::vector<std::atomic<const net::route*>> known_;  // null where there is none to use, and while replies wait
  std::vector<endpoint*> endpoint_of_;
  std::vector<std::atomic<std::uint32_t>> waiting_replies_;
};

}  // namespace weft::core
