// SPDX-License-Identifier: BSD-3-Clause
// Messages that have arrived for a device slot and are held back for some polls.
//
// It is the sink of the transport below. A slot's inbox outlives its device: the device that adopts the slot delivers
// the messages that are held. **Threads**: the one that polls.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "net/sim/plan.hpp"

namespace weft::net::sim {

class inbox {
 public:
  inbox(const plan& plan, std::uint64_t seed, std::uint32_t ranks, tally& faults);

  /// Takes a message, and decides how long it is held back. False if enough messages of its sender are held.
  [[nodiscard]] bool on_message(arrival message) noexcept;

  /// Messages that are held here whose payload has an owner.
  [[nodiscard]] std::int64_t payloads_held() const noexcept;

  /// Whether messages of `peer` are held.
  [[nodiscard]] bool holds_from(std::uint32_t peer) const noexcept { return held_from_[peer] != 0; }

  /// Keeps the loss for the sink of the next `deliver`.
  void on_lost(std::uint32_t peer, const net::header& header, const char* cause) noexcept {
    lost_.push_back({peer, header, cause});
  }

  /// Delivers messages that are due, in any order, at most `budget`. Each call is one poll, which brings all held
  /// messages nearer to their time, so that none stays for ever. After the sink refuses a message, no further message
  /// of its sender is delivered in this call.
  template <class Sink>
  unsigned deliver(Sink& sink, unsigned budget) noexcept {
    begin_poll();
    if constexpr (hears_of_losses<Sink>) {
      for (const lost& each : lost_) sink.on_lost(each.peer, each.header, each.cause);
    }
    lost_.clear();
    unsigned moved = 0;
    while (moved < budget) {
      held* const next = choose();
      if (next == nullptr) break;
      arrival out = next->message;
      if (out.owner == nullptr) out.payload = next->payload.data();
      if (sink.on_message(out)) {
        remove(*next);
        ++moved;
      } else {
        if constexpr (hears_of_full_targets<Sink>) sink.on_target_full();
        block(out.source);
      }
    }
    return moved;
  }

 private:
  static constexpr std::uint32_t held_per_peer_max = 32;
  static constexpr std::uint64_t polls_max = 24;  // that a message is held back

  struct held {
    arrival message;
    std::uint64_t due = 0;     // the poll from which on it may be delivered
    std::uint64_t serial = 0;  // number in the order of arrival
    std::array<std::byte, detail::inline_bytes_max> payload{};
  };

  struct lost {
    std::uint32_t peer;
    net::header header;
    const char* cause;
  };

  void begin_poll() noexcept;
  [[nodiscard]] bool may_go(const held& each) const noexcept;
  [[nodiscard]] held* choose() noexcept;
  void remove(held& gone) noexcept;
  void block(std::uint32_t source) noexcept { blocked_[source] = now_; }

  std::uint32_t delay_percent_;
  dice dice_;
  tally* faults_;
  std::uint64_t now_ = 0;  // polls so far
  std::uint64_t serial_ = 0;
  std::vector<held> held_;
  std::vector<lost> lost_;
  std::vector<std::uint32_t> held_from_;  // index: rank
  std::vector<std::uint64_t> blocked_;    // index: rank; the last poll in which the sink refused its message
};

}  // namespace weft::net::sim
