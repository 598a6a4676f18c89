// How many packets of each sender wait here for receives, and the notices that ranks send each other about that. A
// notice tells a sender with too many packets here to keep its bytes: it sends an RTS instead, until fewer wait.
//
// Cost: of a send in a packet, one read of a word that seldom changes; of a message that waits, one fetch-and-add when
// it arrives and one when it is taken.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

namespace weft::core {

class send_budget {
 public:
  send_budget(std::uint32_t packets_max, std::uint32_t ranks)
      : ranks_{ranks},
        packets_per_rank_{std::max(packets_max / std::max(ranks, 1U), 1U)},
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

  // The receiver's side.

  void add(std::uint32_t source) noexcept { kept_[source].packets.fetch_add(1, std::memory_order_relaxed); }   // [hint]
  void take(std::uint32_t source) noexcept { kept_[source].packets.fetch_sub(1, std::memory_order_relaxed); }  // [hint]

  /// Whether so many packets of `source` wait here that further ones are copied: they were sent before the notice.
  [[nodiscard]] bool is_exceeded(std::uint32_t source) const noexcept {
    const std::int32_t packets = kept_[source].packets.load(std::memory_order_relaxed);  // [hint]
    return packets >= static_cast<std::int32_t>(2 * packets_per_rank_);
  }

  /// The number of the notice to send to `source`; 0: none. Between the two bounds of waiting packets the last notice
  /// stays valid.
  [[nodiscard]] std::uint32_t next_notice(std::uint32_t source) const noexcept {
    const std::int32_t packets = kept_[source].packets.load(std::memory_order_relaxed);  // [hint]
    const std::uint32_t last = kept_[source].told.load(std::memory_order_relaxed);       // [hint]
    const bool asked = last % 2 != 0;
    const bool has_news = asked ? packets <= static_cast<std::int32_t>(packets_per_rank_ / 2)
                                : packets > static_cast<std::int32_t>(packets_per_rank_);
    return has_news ? last + 1 : 0;
  }

  /// Notice `number` has been sent to `source`.
  void note_sent(std::uint32_t source, std::uint32_t number) noexcept {
    std::uint32_t before = number - 1;
    // [budget.told] relaxed: if another thread has sent it too, the sender ignores the second.
    kept_[source].told.compare_exchange_strong(before, number, std::memory_order_relaxed);
  }

  /// At the end, when no other thread uses it: whether no rank's count is negative.
  [[nodiscard]] bool is_consistent() const noexcept {
    const auto is_right = [](const kept_of_rank& each) {
      return each.packets.load(std::memory_order_relaxed) >= 0;  // [own] at the end
    };
    return std::all_of(kept_.get(), kept_.get() + ranks_, is_right);
  }

 private:
  struct kept_of_rank {
    std::atomic<std::int32_t> packets{0};
    std::atomic<std::uint32_t> told{0};
  };

  std::uint32_t ranks_;
  std::uint32_t packets_per_rank_;
  std::unique_ptr<kept_of_rank[]> kept_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> heard_;
};

}  // namespace weft::core
