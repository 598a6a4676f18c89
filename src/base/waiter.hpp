// Waiting for one event: by a fiber, which is suspended, or by a thread, which sleeps.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/callback_scope.hpp"
#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/of_fiber.hpp"
#include "base/this_suspender.hpp"
#include "weft/suspender.hpp"

namespace weft::base {

/// One event for one waiting fiber or thread, on whose stack this object lies.
class waiter {
 public:
  waiter() noexcept : by_{current_suspender()}, who_{by_ != nullptr ? by_->current() : nullptr} {}
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

  /// Whether a fiber waits, not a thread.
  [[nodiscard]] bool is_fiber() const noexcept { return who_ != nullptr; }

  [[nodiscard]] bool has_come() const noexcept {
    // [waiter.look] acquire <- [waiter.come]: what was done before.
    return state_.load(std::memory_order_acquire) == come_by;
  }

  /// Returns once the event has come. **Threads**: the one that made this object.
  void wait(const wait_note& why) noexcept {
    while (!has_come()) {
      if (is_fiber()) {
        this_wait() = why;
        suspend_by(*by_);
        continue;
      }
      std::uint32_t awaited = nothing_yet;
      // [waiter.sleep] relaxed: the thread in `come` sees it, as both exchange one word.
      state_.compare_exchange_strong(awaited, asleep, std::memory_order_relaxed);
      sleep_while({&state_, asleep}, {}, clock::now() + std::chrono::seconds{1});
    }
  }

  /// Lets others run. Only for a fiber.
  void yield(const char* why) noexcept {
    this_wait() = {.call = why, .is_poll = true};
    by_->resume(who_);
    suspend_by(*by_);
  }

  /// The event has come. The waiting thread may destroy this object before this returns. **Threads**: any, once.
  /// **Blocking**: never.
  void come() noexcept {
    suspender* const by = by_;
    void* const who = who_;
    // [waiter.come] acq_rel -> [waiter.look]: what was done before.
    const bool sleeps = state_.exchange(come_by, std::memory_order_acq_rel) == asleep;
    if (who != nullptr) {
      by->resume(who);
    } else if (sleeps) {
      wake_all(state_);
    }
  }

 private:
  suspender* by_;
  void* who_;
  static constexpr std::uint32_t nothing_yet = 0, asleep = 1, come_by = 2;
  std::atomic<std::uint32_t> state_{nothing_yet};
};

}  // namespace weft::base
