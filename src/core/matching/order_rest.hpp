// SPDX-License-Identifier: BSD-3-Clause
// Work of ordered engines for later calls of progress, on any device: early messages that one call has left, and
// notices of credits (order_credits.hpp) for which there was no room, or that are held back.
//
// **Threads**: any. Cost: nothing for a message that is in its order; `kept_messages` says whether there is something.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/matching/kept_messages.hpp"

namespace weft::core {

class order_rest {
 public:
  /// A source of an engine whose next early messages have to be put in order.
  struct early_source {
    std::uint32_t engine;
    std::uint32_t rank;
  };

  explicit order_rest(kept_messages& kept) noexcept : kept_{&kept} {}
  order_rest(const order_rest&) = delete;
  order_rest& operator=(const order_rest&) = delete;

  /// False: there is no room.
  [[nodiscard]] bool try_add(early_source more) noexcept {
    const std::scoped_lock lock{mutex_};
    if (count_ == sources_.size()) return false;
    sources_[count_++] = more;
    kept_->count_early(1);
    return true;
  }
  /// False: there is none.
  [[nodiscard]] bool try_take(early_source& out) noexcept {
    const std::scoped_lock lock{mutex_};
    if (count_ == 0) return false;
    out = sources_[0];
    --count_;
    for (std::uint32_t i = 0; i < count_; ++i) sources_[i] = sources_[i + 1];
    kept_->count_early(-1);
    return true;
  }

  /// A notice is due, and was not sent.
  void note_notices() noexcept {
    // [rest.notices] acq_rel -> [rest.take]: the count that has made the notice due.
    if (!has_notices_.exchange(true, std::memory_order_acq_rel)) kept_->count_notices(1);
  }
  /// Whether notices may be due; the caller sends them, or calls `note_notices` again.
  [[nodiscard]] bool take_notices() noexcept {
    // [rest.take] acq_rel <- [rest.notices]: the count that has made a notice due.
    if (!has_notices_.exchange(false, std::memory_order_acq_rel)) return false;
    kept_->count_notices(-1);
    return true;
  }

 private:
  kept_messages* kept_;
  std::atomic<bool> has_notices_{false};
  std::mutex mutex_;
  std::uint32_t count_ = 0;
  std::array<early_source, 16> sources_{};
};

}  // namespace weft::core
