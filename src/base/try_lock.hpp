// A lock that nobody waits for: a thread that does not get it does something else.
//
// Cost: one exchange to enter (a plain read where it is taken), one plain store to leave.
#pragma once

#include <atomic>

namespace weft::base {

class try_lock {
 public:
  [[nodiscard]] bool try_enter() noexcept {
    // [try_lock.look] relaxed: a hint only, so that contenders read a line instead of taking it.
    if (held_.load(std::memory_order_relaxed)) return false;
    // [try_lock.enter] acquire <- [try_lock.leave]: what the last holder did.
    return !held_.exchange(true, std::memory_order_acquire);
  }

  void leave() noexcept {
    // [try_lock.leave] release -> [try_lock.enter]: what this holder did.
    held_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace weft::base
