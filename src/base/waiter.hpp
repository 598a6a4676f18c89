// SPDX-License-Identifier: BSD-3-Clause
// Waiting for one event: by a fiber, which is suspended, or by a thread, which sleeps.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>

#include "base/backoff.hpp"
#include "base/callback_scope.hpp"
#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/long_wait.hpp"
#include "base/this_suspender.hpp"
#include "base/timer_queue.hpp"
#include "base/wake_word.hpp"
#include "weft/suspender.hpp"
#include "weft/wait.hpp"

namespace weft::base {

class limit_watch;

/// One event for one waiting fiber or thread, on whose stack this object lies. A fiber is suspended by the suspender of
/// the thread that runs it then, and resumed by the suspender that has named it (weft/suspender.hpp).
class waiter {
 public:
  waiter() noexcept
      : suspender_{current_suspender()}, fiber_{suspender_ != nullptr ? suspender_->current() : nullptr} {}
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

  /// Whether a fiber waits, not a thread.
  [[nodiscard]] bool is_fiber() const noexcept { return fiber_ != nullptr; }

  /// Then the thread in `come` uses neither this object nor the scheduler of the fiber any more.
  [[nodiscard]] bool has_come() const noexcept { return word_.is_set(); }

  /// Returns once the event has come. **Threads**: the one that made this object, or where its fiber runs now.
  void wait(const wait_note& why) noexcept {
    if (is_fiber()) return wait_as_fiber(why);
    long_wait listed{why.call};
    const clock::time_point begin = clock::now();
    for (clock::time_point now = begin; !has_come(); now = clock::now()) {
      listed.note(begin, now);
      word_.prepare_sleep();
      sleep_while({&word_.address(), wake_word::asleep}, {}, now + sleep_max);
    }
  }

  /// Returns true once the event has come, false if a limit of `until` was reached first. After false the event may
  /// still come: the caller makes that impossible, or waits for it. **Threads**: as for the other `wait`.
  [[nodiscard]] bool wait(const wait_note& why, const limit_watch& until) noexcept;

  /// Lets others run. Only for a fiber.
  void yield(const char* why) noexcept { yield_fiber({.call = why, .is_poll = true}); }

  /// The event has come. The waiting thread may destroy this object before this returns, and a fiber once `has_come()`.
  /// **Threads**: any, once. **Blocking**: never.
  void come() noexcept {
    if (fiber_ != nullptr) {
      word_.begin_wake();
      suspender_->resume(fiber_);
      word_.end_wake();
    } else if (word_.set_for_thread()) {
      wake_all(word_.address());
    }
  }

 private:
  friend class limit_watch;
  using wake_word = basic_wake_word<>;
  static constexpr std::chrono::milliseconds sleep_max{100};  // so that a long wait is listed soon

  /// Makes a waiting fiber or thread look at its limits.
  void interrupt() noexcept {
    if (is_fiber()) return suspender_->resume(fiber_);
    if (word_.interrupt_thread()) wake_all(word_.address());
  }

  // A fiber that was resumed waits for the thread that resumes it, which may have been interrupted: other fibers run
  // meanwhile, and then that thread.
  void wait_as_fiber(const wait_note& why) noexcept {
    static_cast<void>(wait_as_fiber(why, [] { return false; }));
  }
  template <class Limit>
  [[nodiscard]] bool wait_as_fiber(const wait_note& why, Limit is_reached) noexcept {
    backoff waking;
    for (std::uint32_t seen = word_.state(); seen != wake_word::set; seen = word_.state()) {
      if (seen == wake_word::unset) {
        if (is_reached()) return false;
        suspend_fiber(why);
        continue;
      }
      waking.pause();
      if (waking.is_long()) yield("the thread that wakes it");
    }
    return true;
  }

  suspender* suspender_;  // suspender of the thread that made this object: it resumes the fiber, wherever that runs now
  void* fiber_;
  wake_word word_;
};

/// Interrupts the wait of `waiter` when a limit is reached. **Lifetime**: made before other threads know `waiter`,
/// destroyed before it. **Threads**: the one of `waiter`.
class limit_watch {
 public:
  /// **Errors**: std::bad_alloc; std::system_error if the system gives no thread for timers.
  limit_watch(waiter& waiter, const wait_limits& limits) : stop_{limits.stop} {
    const clock::time_point now = clock::now();
    // Far below zero, later differences would overflow.
    const auto timeout = std::max(limits.timeout, std::chrono::nanoseconds::zero());
    if (timeout < clock::time_point::max() - now) until_ = now + timeout;
    if (waiter.is_fiber() && until_ != clock::time_point::max())
      timer_.emplace(*waiter.suspender_, waiter.fiber_, until_);
    if (stop_.stop_possible()) on_stop_.emplace(stop_, interruption{&waiter});
  }
  limit_watch(const limit_watch&) = delete;
  limit_watch& operator=(const limit_watch&) = delete;

  [[nodiscard]] bool is_reached() const noexcept {
    return stop_.stop_requested() || (until_ != clock::time_point::max() && clock::now() >= until_);
  }
  [[nodiscard]] clock::time_point until() const noexcept { return until_; }

 private:
  struct interruption {
    void operator()() const noexcept { target->interrupt(); }
    waiter* target;
  };

  clock::time_point until_ = clock::time_point::max();
  std::stop_token stop_;
  std::optional<timer> timer_;
  std::optional<std::stop_callback<interruption>> on_stop_;
};

inline bool waiter::wait(const wait_note& why, const limit_watch& until) noexcept {
  if (is_fiber()) return wait_as_fiber(why, [&] { return until.is_reached(); });
  long_wait listed{why.call};
  const clock::time_point begin = clock::now();
  for (clock::time_point now = begin; !has_come(); now = clock::now()) {
    listed.note(begin, now);
    word_.prepare_sleep();
    if (until.is_reached()) return false;
    sleep_while({&word_.address(), wake_word::asleep}, {}, std::min<clock::time_point>(until.until(), now + sleep_max));
  }
  return true;
}

}  // namespace weft::base
