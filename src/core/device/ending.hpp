// The end of something that a call of progress() may be using: it is withdrawn where this is made, then the calls are
// awaited that were under way, then the rest goes. A thread or fiber waits in a destructor, a coroutine in a run loop.
#pragma once

#include "base/backoff.hpp"
#include "base/this_suspender.hpp"

namespace weft::core {

class ending {
 public:
  ending() = default;
  ending(const ending&) = delete;
  ending& operator=(const ending&) = delete;
  virtual ~ending() = default;

  /// Whether it is complete; then the handle is empty. **Blocking**: never. Not to be called after it has answered
  /// true.
  [[nodiscard]] virtual bool go_on() noexcept = 0;

  /// **Blocking**: until it is complete.
  void wait() noexcept {
    for (base::backoff waiting; !go_on();) base::yield_or_pause(waiting);
  }
};

}  // namespace weft::core
