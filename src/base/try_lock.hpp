// SPDX-License-Identifier: BSD-3-Clause
// A lock for which no thread waits: a thread that does not get it does something else.
//
// Cost: one exchange to enter (a plain read where it is taken), one plain store to leave.
// Progress: wait-free; entering may fail. Linearization: the exchange. Model test:
// tests/model/intrusive_stack_test.cpp.
#pragma once

#include "weft/detail/atomics.hpp"

namespace weft::base {

template <class Atomics = detail::std_atomics>
class basic_try_lock {
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
  typename Atomics::template atomic<bool> held_{false};
};

using try_lock = basic_try_lock<>;

}  // namespace weft::base
