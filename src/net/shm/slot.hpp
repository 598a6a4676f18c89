// SPDX-License-Identifier: BSD-3-Clause
// The shared-memory rings of one device slot: to send on, and to receive on.
//
// A slot outlives its device: the next device continues at these ring positions, and messages in the rings must be
// received.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "net/ring/route.hpp"
#include "net/shm/peer.hpp"

namespace weft::net::shm {

/// The receiving side of one ring.
struct incoming {
  incoming(peer& from, ring_control& control, std::uint32_t cells) noexcept
      : source{&from}, rank{from.rank()}, receiver{control, reinterpret_cast<const cell*>(&control + 1), cells} {}

  peer* source;
  std::uint32_t rank;
  ring_receiver receiver;
  const incoming* before = nullptr;  // next in the list of `slot::newest_`
};

class slot {
 public:
  /// `cells`: of the rings that it sends into, a power of two; 0: as many as the layout has room for.
  /// `borrowers`: for each packet of this rank, the rank that has it.
  slot(std::vector<std::unique_ptr<peer>>& peers, std::byte* base, const layout& where, std::uint32_t index,
       std::uint32_t cells, std::atomic<std::uint32_t>* borrowers);

  /// The known routes, by rank.
  [[nodiscard]] route* routes() noexcept { return routes_.data(); }

  /// The ring for a message to rank `to` that names `device`, found from the peer's present devices. The first message
  /// to a device makes the ring, which allocates. Null if there is no memory for it, or the peer has no devices.
  /// **Threads**: any.
  [[nodiscard]] outgoing* find_ring(std::uint32_t to, std::uint32_t device) noexcept;

  /// Rings that peers have opened to this slot. **Threads**: the one that polls.
  [[nodiscard]] std::deque<incoming>& sources() noexcept { return sources_; }

  /// Adds the rings that peers have opened since the last look to `sources`; true if there are any. **Threads**: the
  /// one that polls.
  [[nodiscard]] bool look_for_sources() noexcept;
  /// Whether a message waits in a ring to this slot. **Threads**: any.
  [[nodiscard]] bool holds_unread() const noexcept;
  /// Whether there was no memory for a ring that the last look found: the next look has to find it again.
  [[nodiscard]] bool has_missed_some() const noexcept { return missed_; }

 private:
  // Under `making_`.
  [[nodiscard]] outgoing* make_ring(std::uint32_t to, std::uint32_t device) noexcept;
  void add_sources(std::uint32_t source, std::uint64_t devices);

  std::vector<std::unique_ptr<peer>>* peers_;
  std::byte* base_;  // begin of our own segment
  const layout* layout_;
  std::uint32_t index_;
  std::uint32_t cells_;
  std::atomic<std::uint32_t>* borrowers_;
  std::vector<route> routes_;
  std::vector<std::array<std::atomic<outgoing*>, slots_max>> endpoint_of_;  // index: peer, then its device
  std::mutex making_;                                                       // rings, and their entries in `routes_`
  std::vector<std::unique_ptr<outgoing>> made_;                             // under `making_`
  const std::atomic<std::uint64_t>* connects_;                              // lies in our segment: a word for each rank
  std::vector<std::uint64_t> connected_;                                    // the rings that are in `sources_`
  std::deque<incoming> sources_;                                            // stay where they are
  std::atomic<const incoming*> newest_{nullptr};                            // newest of these, for other threads
  bool missed_ = false;
};

}  // namespace weft::net::shm
