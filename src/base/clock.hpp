// SPDX-License-Identifier: BSD-3-Clause
// The one clock of the library. In a program it is the system's steady clock. A test can set it and move it on by hand,
// so that what time decides is tried without waiting for time to pass.
//
// Cost: beside the system's clock, one read of a word that no program writes.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>

namespace weft::base {

/// Has all that the standard library asks of a clock. **Threads**: any.
class clock {
 public:
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock>;
  static constexpr bool is_steady = true;

  [[nodiscard]] static time_point now() noexcept {
    const rep set = set_to_.load(std::memory_order_relaxed);  // [hint] a thread that reads the old time reads it again
    return set == not_set ? of_system() : time_point{duration{set}};
  }

  /// How long a system call that ends at `until` may sleep. It does not notice when a test moves the clock on, so then
  /// it sleeps for a moment at most, and its caller looks at the clock again.
  [[nodiscard]] static duration left_to_sleep(time_point until) noexcept {
    const duration left = until - now();
    return is_set() ? std::min<duration>(left, std::chrono::milliseconds{1}) : left;
  }

  /// An end by the system's clock.
  [[nodiscard]] static std::chrono::steady_clock::time_point end_of_sleep(time_point until) noexcept {
    const time_point by_system = is_set() ? of_system() + left_to_sleep(until) : until;
    return std::chrono::steady_clock::time_point{by_system.time_since_epoch()};
  }

 private:
  friend class set_clock;

  static constexpr rep not_set = std::numeric_limits<rep>::min();

  [[nodiscard]] static time_point of_system() noexcept {
    return time_point{std::chrono::steady_clock::now().time_since_epoch()};
  }
  [[nodiscard]] static bool is_set() noexcept {
    return set_to_.load(std::memory_order_relaxed) != not_set;  // [hint] as in now()
  }

  static inline constinit std::atomic<rep> set_to_{not_set};
};

/// Used by tests: while one lives, the clock of the whole process stands still, except for `advance`. It begins at the
/// present time. **Threads**: one at a time has one; any may advance it.
class set_clock {
 public:
  set_clock() noexcept {
    // [hint] as in clock::now().
    clock::set_to_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  }
  ~set_clock() { clock::set_to_.store(clock::not_set, std::memory_order_relaxed); }  // [hint]
  set_clock(const set_clock&) = delete;
  set_clock& operator=(const set_clock&) = delete;

  void advance(clock::duration duration) noexcept {
    clock::set_to_.fetch_add(duration.count(), std::memory_order_relaxed);  // [hint]
  }
};

}  // namespace weft::base
