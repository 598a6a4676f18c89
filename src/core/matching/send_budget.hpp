// SPDX-License-Identifier: BSD-3-Clause
// What of each sender waits here for receives, and the notices that ranks send each other about that. Messages wait in
// their packets up to the sender's share of packets; further ones are copied, up to the sender's part of the bytes for
// copies. Beyond both, a notice tells the sender to keep its bytes: it sends an RTS instead, until there is room again.
// Messages that were under way then stay in their packets up to twice the share, and the rest of them is copied.
//
// So a sender has its packets back at once, and waits for a receive only where this rank has no bytes left for it.
// Without bytes for copies a sender is asked as soon as its share of packets waits.
//
// Cost: of a send in a packet, one read of a word that seldom changes; of a message that waits, one fetch-and-add when
// it arrives and one when it is taken.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

namespace weft::core {

/// The bytes of all senders together; each may use an equal part of it.
struct send_bounds {
  std::uint32_t packets_max;
  std::uint64_t copied_bytes_max;
  std::uint64_t packet_bytes;  // the most that one copy takes
};

class send_budget {
 public:
  send_budget(const send_bounds& bounds, std::uint32_t ranks)
      : ranks_{ranks},
        packets_per_rank_{std::max(bounds.packets_max / std::max(ranks, 1U), 1U)},
        bytes_per_rank_{static_cast<std::int64_t>(bounds.copied_bytes_max / std::max(ranks, 1U))},
        packet_bytes_{static_cast<std::int64_t>(bounds.packet_bytes)},
        kept_{std::make_unique<kept_of_rank[]>(ranks)},
        heard_{std::make_unique<std::atomic<std::uint32_t>[]>(ranks)} {}

  // The sender's side.

  /// Whether `peer` wants an RTS instead of packets.
  [[nodiscard]] bool must_send_rts(std::uint32_t peer) const noexcept {
    return heard_[peer].load(std::memory_order_relaxed) % 2 != 0;  // [hint] both protocols are right at any time
  }

  /// A notice of `peer` has arrived. Notices are numbered; odd means "send RTS", even means "send packets". A notice
  /// older than the last one is ignored.
  void on_notice(std::uint32_t peer, std::uint32_t number) noexcept {
    std::uint32_t known = heard_[peer].load(std::memory_order_relaxed);  // [hint]
    while (static_cast<std::int32_t>(number - known) > 0) {
      if (heard_[peer].compare_exchange_weak(known, number, std::memory_order_relaxed)) return;  // [hint]
    }
  }

  // The receiver's side. Threads that receive from one sender may each exceed a bound by one message.

  void add(std::uint32_t source) noexcept { kept_[source].packets.fetch_add(1, std::memory_order_relaxed); }   // [hint]
  void take(std::uint32_t source) noexcept { kept_[source].packets.fetch_sub(1, std::memory_order_relaxed); }  // [hint]
  // Count a copy that takes `bytes`.
  void add_copy(std::uint32_t source, std::size_t bytes) noexcept {
    kept_[source].bytes.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);  // [hint]
  }
  void take_copy(std::uint32_t source, std::size_t bytes) noexcept {
    kept_[source].bytes.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);  // [hint]
  }

  /// Whether the next message of `source` is copied, which takes `bytes`.
  [[nodiscard]] bool wants_copy(std::uint32_t source, std::size_t bytes) const noexcept {
    const std::int64_t packets = kept_[source].packets.load(std::memory_order_relaxed);  // [hint]
    if (packets < packets_per_rank_) return false;
    return packets >= 2 * std::int64_t{packets_per_rank_} || has_bytes(kept_[source], static_cast<std::int64_t>(bytes));
  }

  /// The number of the notice to send to `source`; 0: none. In between, the last notice stays valid.
  [[nodiscard]] std::uint32_t next_notice(std::uint32_t source) const noexcept {
    const kept_of_rank& kept = kept_[source];
    const std::int64_t packets = kept.packets.load(std::memory_order_relaxed);  // [hint]
    const std::uint32_t last = kept.told.load(std::memory_order_relaxed);       // [hint]
    const bool asked = last % 2 != 0;
    const bool has_news = asked ? packets <= packets_per_rank_ / 2 || has_half_free(kept)
                                : packets > packets_per_rank_ && !has_bytes(kept, packet_bytes_);
    return has_news ? last + 1 : 0;
  }

  /// Notice `number` has been sent to `source`.
  void note_sent(std::uint32_t source, std::uint32_t number) noexcept {
    std::uint32_t before = number - 1;
    // [budget.told] relaxed: if another thread has sent it too, the sender ignores the second.
    kept_[source].told.compare_exchange_strong(before, number, std::memory_order_relaxed);
  }

  /// Asked at the end, when no other thread uses it: whether no rank's counts are negative.
  [[nodiscard]] bool is_consistent() const noexcept {
    const auto is_right = [](const kept_of_rank& each) {
      return each.packets.load(std::memory_order_relaxed) >= 0 &&  // [own] at the end
             each.bytes.load(std::memory_order_relaxed) >= 0;      // [own] at the end
    };
    return std::all_of(kept_.get(), kept_.get() + ranks_, is_right);
  }

 private:
  struct kept_of_rank {
    std::atomic<std::int32_t> packets{0};
    std::atomic<std::uint32_t> told{0};
    std::atomic<std::int64_t> bytes{0};  // bytes of copies
  };

  [[nodiscard]] bool has_bytes(const kept_of_rank& kept, std::int64_t more) const noexcept {
    return kept.bytes.load(std::memory_order_relaxed) + more <= bytes_per_rank_;  // [hint]
  }
  // If half of the bytes has no room for any packet, they do not end a notice: the next message could renew it.
  [[nodiscard]] bool has_half_free(const kept_of_rank& kept) const noexcept {
    const std::int64_t half = bytes_per_rank_ / 2;
    return half >= packet_bytes_ && has_bytes(kept, half);
  }

  std::uint32_t ranks_;
  std::uint32_t packets_per_rank_;
  std::int64_t bytes_per_rank_;
  std::int64_t packet_bytes_;
  std::unique_ptr<kept_of_rank[]> kept_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> heard_;
};

}  // namespace weft::core
