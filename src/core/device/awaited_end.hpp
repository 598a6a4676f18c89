// SPDX-License-Identifier: BSD-3-Clause
// The end of an object that a call of progress() may be using. The constructor withdraws the object; then the ending
// waits for the calls that were under way; then it destroys the rest. A thread or fiber waits in a destructor, a
// coroutine in a run loop.
#pragma once

#include "base/backoff.hpp"
#include "base/long_wait.hpp"
#include "base/this_suspender.hpp"

namespace weft::core {

class awaited_end {
 public:
  awaited_end() = default;
  awaited_end(const awaited_end&) = delete;
  awaited_end& operator=(const awaited_end&) = delete;
  virtual ~awaited_end() = default;

  /// Whether the end is complete; then the handle is empty. **Blocking**: never. Must not be called again after it has
  /// answered true.
  [[nodiscard]] virtual bool go_on() noexcept = 0;

  /// **Blocking**: until the end is complete.
  void wait() noexcept {
    base::slow_wait listed{"the destructor of a registration, a matching engine, a device or a hook"};
    for (base::backoff waiting; !go_on(); listed.note(waiting)) base::yield_or_pause(waiting);
  }
};

}  // namespace weft::core
