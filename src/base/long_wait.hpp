// SPDX-License-Identifier: BSD-3-Clause
// A wait of a thread, for the report of a process in which nothing moves (standstill.hpp).
//
// Cost: nothing to a wait that ends within `listed_after`; a lock at the beginning and the end of a longer one, if the
// report is wanted. A part of a longer wait reads the clock in each step.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "base/this_wait.hpp"

namespace weft::base {

/// What a wait is for. `describe` adds to the report, by another thread, while the wait lasts: ` for ...`, or nothing.
/// It may lock nothing.
struct wait_details {
  void (*describe)(const void* subject, std::string& into) = nullptr;
  const void* subject = nullptr;
};

/// Lies on the stack of the thread that waits. **Threads**: that one.
class long_wait {
 public:
  static constexpr std::chrono::milliseconds listed_after{20};

  /// `call`, of static storage, is the function that waits.
  explicit long_wait(const char* call) noexcept : call_{call} {}
  long_wait(const long_wait&) = delete;
  long_wait& operator=(const long_wait&) = delete;
  ~long_wait() {
    if (is_listed_) [[unlikely]]
      leave();
  }

  /// Called before each slow step of the wait, which began at `since`. Where it is a part of a longer wait, that one's
  /// beginning counts.
  void note(clock::time_point since, clock::time_point now, const wait_details& details = {}) noexcept {
    if (is_listed_) return;
    since = std::min(since, this_thread_waits().since);
    if (now - since >= listed_after) [[unlikely]]
      enter(since, details);
  }

 private:
  friend class standstill;

  void enter(clock::time_point since, const wait_details& details) noexcept;
  void leave() noexcept;

  const char* call_;
  bool is_listed_ = false;
  clock::time_point since_{};
  wait_details details_;
  wait_note note_;
  pid_t thread_ = 0;
  long_wait* before_ = nullptr;
  long_wait* behind_ = nullptr;
};

/// Notes a loop of steps of a `backoff`.
class slow_wait {
 public:
  explicit slow_wait(const char* call, const wait_details& details = {}) noexcept : wait_{call}, details_{details} {}

  /// Called after each step.
  void note(const backoff& waiting) noexcept {
    if (!waiting.is_long() && !this_thread_waits().is_part()) return;
    const clock::time_point now = clock::now();
    if (since_ == clock::time_point{}) since_ = now;
    wait_.note(since_, now, details_);
  }

 private:
  long_wait wait_;
  wait_details details_;
  clock::time_point since_{};
};

/// Makes waits and polls of the calling thread no sign that the program waits: it serves others, as the
/// thread of a `progress_thread` does.
void serve_others() noexcept;

}  // namespace weft::base
