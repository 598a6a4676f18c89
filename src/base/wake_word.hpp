// SPDX-License-Identifier: BSD-3-Clause
// The state of a wait for one event (base/waiter.hpp): by it a waiting fiber and the thread that wakes it agree on when
// the fiber may leave.
//
// A fiber that was resumed may end at once, and be joined, and its scheduler and the stack that this word lies on may
// be destroyed, while the thread that resumed it is still inside `suspender::resume`. So the waking thread announces
// the event, resumes the fiber, and then says that it has done so: before that, the fiber does not leave.
//
// Cost of a wake-up: two stores; the thread of the fiber sees both at once where it is the waking thread itself. A
// sleeping thread is woken by the address of the word alone, which need not exist then: one exchange.
//
// A wait that reaches its limit leaves the word unset: its caller must then take it away from the threads that would
// set it.
#pragma once

#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::base {

/// **Threads**: one waits, one sets the event, once, and any interrupt a waiting thread. Progress: a wake-up is
/// wait-free, an interruption lock-free; a fiber that was resumed waits for the waking thread to return from `resume`.
/// Linearization: `begin_wake`, or the exchange in `set_for_thread`; the waiting thread leaves after `end_wake`. Model
/// test: tests/model/wake_word_test.cpp.
template <class Atomics = detail::std_atomics>
class basic_wake_word {
 public:
  static constexpr std::uint32_t unset = 0, asleep = 1, waking = 2, set = 3;
  using word = typename Atomics::template atomic<std::uint32_t>;

  /// `set`: the event was set, and the thread that set it needs neither this word nor the waiting fiber any more.
  /// `waking`: that thread is about to resume the fiber, or has just done so; a fiber that suspends itself now may
  /// never be resumed. So the fiber decides by one look what it does.
  [[nodiscard]] std::uint32_t state() const noexcept {
    // [wake.look] acquire <- [wake.end], [wake.thread]: what was done before the event, and the resume itself.
    return state_.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool is_set() const noexcept { return state() == set; }

  /// Called by the thread that sets the event, before and after it resumes the waiting fiber.
  void begin_wake() noexcept {
    // [wake.begin] relaxed: a fiber that sees it leaves no earlier. Ordered before the fiber's next look by `resume`.
    state_.store(waking, std::memory_order_relaxed);
  }
  void end_wake() noexcept {
    // [wake.end] release -> [wake.look]: the stores before the event, and the resume itself.
    state_.store(set, std::memory_order_release);
  }

  /// Sets the event for a waiting thread. **Returns**: whether it has to be woken, by the address of the word.
  [[nodiscard]] bool set_for_thread() noexcept {
    // [wake.thread] release -> [wake.look]: the stores before the event.
    return state_.exchange(set, std::memory_order_release) == asleep;
  }
  /// Called by a waiting thread that is about to sleep while the word is `asleep`.
  void prepare_sleep() noexcept {
    std::uint32_t awaited = unset;
    // [wake.sleep] acquire <- [wake.interrupt]: the stores before an interruption. `set_for_thread` sees the store,
    // as both change one word.
    state_.compare_exchange_strong(awaited, asleep, std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// Called by any thread: a waiting thread shall look again, as a limit of its wait is reached. It sees what the
  /// caller did before, as it looks after `prepare_sleep`. **Returns**: whether it has to be woken, as for
  /// `set_for_thread`.
  [[nodiscard]] bool interrupt_thread() noexcept {
    std::uint32_t seen = asleep;
    while (seen == unset || seen == asleep) {
      // [wake.interrupt] release -> [wake.sleep]: that the limit is reached.
      if (state_.compare_exchange_strong(seen, unset, std::memory_order_release, std::memory_order_relaxed)) {
        return seen == asleep;
      }
    }
    return false;
  }
  [[nodiscard]] const word& address() const noexcept { return state_; }

 private:
  word state_{unset};
};

}  // namespace weft::base
