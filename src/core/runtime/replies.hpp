// SPDX-License-Identifier: BSD-3-Clause
// How many replies a runtime keeps that could not be sent at once, and how many more it takes; and the end of long
// ones.
//
// The bound makes a rank stop that answers faster than its peers read: handlers say *full*, and the rings to this rank
// fill up. If each of two ranks is at its bound, and each ring is full of requests, then neither can read a request, as
// there is no room for its reply. Posts to a rank therefore wait while replies to it do
// (`routes::holds_posts_back`): each cell that is freed goes to a reply, and two ranks with a ring each way do
// not come to that. Where more ranks and devices wait in a circle, the bound gives way: if it has refused many times
// and no reply has been sent meanwhile, a batch of requests is admitted that gives a whole quarter of a ring back to
// the peer. Each batch needs twice as many refusals as the last one, up to 4096, until a reply has been sent: a peer
// that computes for a long time makes this rank keep some batches more than the bound.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/assertion.hpp"
#include "base/config.hpp"
#include "weft/completion.hpp"
#include "weft/runtime.hpp"

namespace weft::core {

class replies final : public completion {
 public:
  replies(weft::runtime& owner, const base::settings& settings) noexcept
      : completion{owner},
        kept_max_{std::max(settings.operations_max.value_or(kept_at_least), settings.ring_cells)},
        batch_{settings.ring_cells / 4} {}

  /// Whether one more may be kept; false counts as a refusal. Several threads may be told so at once, each for one.
  [[nodiscard]] bool has_room() noexcept {
    return kept_.load(std::memory_order_relaxed) < kept_max_ || admits_more();  // [hint]
  }
  /// The most that are kept, where peers read.
  [[nodiscard]] std::uint32_t kept_max() const noexcept { return kept_max_; }

  void keep(bool is_long) noexcept {
    kept_.fetch_add(1, std::memory_order_relaxed);                    // [hint]
    if (is_long) unfetched_.fetch_add(1, std::memory_order_relaxed);  // [own] of the runtime's end
  }
  /// One that was kept has gone.
  void release(bool is_long) noexcept {
    const std::uint32_t before = kept_.fetch_sub(1, std::memory_order_relaxed);  // [hint]
    WEFT_ASSERT_CHECKED(before != 0);
    if (is_long) unfetched_.fetch_sub(1, std::memory_order_relaxed);  // [own] of the runtime's end
    refusals_.store(0, std::memory_order_relaxed);                    // [hint]
    patience_.store(patience_at_first, std::memory_order_relaxed);    // [hint]
  }
  /// Whether peers have yet to fetch long replies. **Threads**: no other one uses the runtime any more.
  [[nodiscard]] bool has_unfetched() const noexcept {
    return unfetched_.load(std::memory_order_relaxed) != 0;
  }  // [own]

  /// A long reply, the record's context, has been fetched, or has failed.
  [[nodiscard]] answer signal(completion_record&& record) noexcept override;

 private:
  [[nodiscard]] bool admits_more() noexcept;

  static constexpr std::uint32_t kept_at_least = 1024;  // unless WEFT_OPERATIONS_MAX is set
  static constexpr std::uint32_t patience_at_first = 64;
  static constexpr std::uint32_t patience_max = 4096;

  const std::uint32_t kept_max_;
  const std::uint32_t batch_;
  std::atomic<std::uint32_t> kept_{0};
  std::atomic<std::uint32_t> unfetched_{0};
  std::atomic<std::uint32_t> refusals_{0};  // since a reply was sent, or a batch was admitted
  std::atomic<std::uint32_t> patience_{patience_at_first};
};

}  // namespace weft::core
