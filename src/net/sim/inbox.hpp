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
  inbox(const plan& how, std::uint64_t seed, std::uint32_t ranks, tally& faults);

  /// Takes a message in, and decides how long it stays. False when enough of this peer's are here.
  [[nodiscard]] bool on_message(arrival message) noexcept;

  /// Messages that are held here whose payload has an owner.
  [[nodiscard]] std::int64_t payloads_held() const noexcept;

  /// Keeps it for the sink of the next `deliver`.
  void on_lost(std::uint32_t peer, const net::header& header, const char* cause) noexcept {
    lost_.push_back({peer, header, cause});
  }

  /// Hands over what is due, in any order, at most `budget` messages. Each call brings all that is held nearer to
  /// its time, so that nothing stays for ever. After `false` no more of that peer's in this call.
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
        if constexpr (notes_no_room<Sink>) sink.note_no_room();
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
    std::uint64_t due = 0;     // the poll from which on it may go
    std::uint64_t serial = 0;  // in the order of arrival
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
  std::vector<std::uint32_t> held_from_;  // by rank
  std::vector<std::uint64_t> blocked_;    // by rank: the poll in which its message found no room
};

}  // namespace weft::net::sim
