// Waiting for one event: by a fiber, which is suspended, or by a thread, which sleeps.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/backoff.hpp"
#include "base/callback_scope.hpp"
#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/long_wait.hpp"
#include "base/this_suspender.hpp"
#include "base/wake_word.hpp"
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

  /// Lets others run. Only for a fiber.
  void yield(const char* why) noexcept { yield_fiber({.call = why, .is_poll = true}); }

  /// The event has come. The waiting thread may destroy this object before this returns, and a fiber once `has_come()`.
  /// **Threads**: any, once. **Blocking**: never.
  void come() noexcept {
    if (who_ != nullptr) {
      word_.begin_wake();
      by_->resume(who_);
      word_.end_wake();
    } else if (word_.set_for_thread()) {
      wake_all(word_.address());
    }
  }

 private:
  using wake_word = basic_wake_word<>;
  static constexpr std::chrono::milliseconds sleep_max{100};  // so that a long wait is listed soon

  // A fiber that was resumed waits for the thread that resumes it, which may have been interrupted: other fibers run
  // meanwhile, and then that thread.
  void wait_as_fiber(const wait_note& why) noexcept {
    backoff waking;
    for (std::uint32_t seen = word_.state(); seen != wake_word::set; seen = word_.state()) {
      if (seen == wake_word::unset) {
        suspend_fiber(why);
        continue;
      }
      waking.pause();
      if (waking.is_long()) yield("the thread that wakes it");
    }
  }

  suspender* by_;  // of the thread that made this object; it may be another one's when the fiber is suspended
  void* who_;
  wake_word word_;
};

}  // namespace weft::base
