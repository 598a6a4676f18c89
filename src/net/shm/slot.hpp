// The shared-memory rings of one device slot: those it sends on, and those it receives on.
//
// A slot outlives its device: ring positions must go on where they were, and what is under way must be served.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/try_lock.hpp"
#include "net/cell_ring.hpp"
#include "net/shm/peer.hpp"

namespace weft::net::shm {

inline constexpr std::uint32_t slots_max = 64;  // a bit each in the words of a segment

/// The sending side of one ring.
struct alignas(detail::cache_line_bytes) outgoing {
  outgoing(ring_control& control, std::uint32_t cells) noexcept
      : sender{control, reinterpret_cast<cell*>(&control + 1), cells} {}

  base::try_lock sending;
  ring_sender sender;
};

/// The receiving side of one ring.
struct incoming {
  incoming(peer& from, ring_control& control, std::uint32_t cells) noexcept
      : source{&from}, receiver{control, reinterpret_cast<const cell*>(&control + 1), cells} {}

  peer* source;
  ring_receiver receiver;
};

class slot {
 public:
  slot(std::vector<std::unique_ptr<peer>>& peers, std::byte* base, const layout& where, std::uint32_t index);

  /// The ring to the device of `to` that a message naming `device` goes to.
  ///
  /// The first message to a device makes the ring, which allocates; null if memory for that is not to be had.
  /// **Threads**: any.
  [[nodiscard]] outgoing* way(std::uint32_t to, std::uint32_t device) noexcept {
    route& cached = routes_[to];
    // [shm.route] acquire <- [shm.reroute]: the way that belongs to these live devices, or a newer one.
    if (device == any_device && cached.live.load(std::memory_order_acquire) == (*peers_)[to]->live_devices()) {
      // [shm.route_way] acquire <- [shm.reroute_way]: the ring is made.
      return cached.way.load(std::memory_order_acquire);
    }
    return find_way(to, device);
  }

  /// Rings that peers have opened to this slot. **Threads**: the one that polls.
  [[nodiscard]] std::vector<incoming>& sources() noexcept { return sources_; }

  /// Looks for rings that peers have opened since the last look. **Threads**: the one that polls.
  void look_for_sources() noexcept;

 private:
  struct alignas(detail::cache_line_bytes) route {
    std::atomic<std::uint64_t> live{0};
    std::atomic<outgoing*> way{nullptr};
    std::array<std::unique_ptr<outgoing>, slots_max> ways;  // by the peer's device; under `making_`
  };

  [[nodiscard]] outgoing* find_way(std::uint32_t to, std::uint32_t device) noexcept;
  [[nodiscard]] outgoing* make_way(std::uint32_t to, std::uint32_t device) noexcept;
  void add_sources(std::uint32_t source, std::uint64_t devices);

  std::vector<std::unique_ptr<peer>>* peers_;
  std::byte* base_;  // of our own segment
  const layout* layout_;
  std::uint32_t index_;
  std::vector<route> routes_;
  std::mutex making_;
  const std::atomic<std::uint64_t>* connects_;  // of our segment: a word for each rank
  std::vector<std::uint64_t> connected_;        // what is in `sources_`
  std::vector<incoming> sources_;
};

}  // namespace weft::net::shm
