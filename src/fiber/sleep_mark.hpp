// SPDX-License-Identifier: BSD-3-Clause
// Whether a worker sleeps, and whether a thread has called it.
//
// A worker that is about to sleep marks itself and then looks once more for something to run; a thread that has given
// it something looks for the mark then. So either the worker sees the new work, or the thread sees the mark and wakes
// it. A fiber that any worker may begin needs one of them only: the thread calls a worker that no other thread has
// called, so that two threads, or two fibers, don't rely on one worker.
//
// Cost to a thread where the worker is awake: a load.
#pragma once

#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::fibers {

/// **Threads**: the worker sleeps and wakes up, any look and call. Progress: wait-free. Linearization: the worker's
/// stores and the exchange in `try_call`. Model test: tests/model/fiber_sleep_test.cpp.
template <class Atomics = detail::std_atomics>
class basic_sleep_mark {
 public:
  void fall_asleep() noexcept {
    // [fiber.sleep] seq_cst <-> [fiber.asleep], [fiber.uncalled]: before the worker's last look for something to run.
    state_.store(asleep, std::memory_order_seq_cst);
  }
  void wake_up() noexcept {
    // [fiber.awake] relaxed: a thread that sees the old state wakes the worker once more for nothing.
    state_.store(awake, std::memory_order_relaxed);
  }

  /// Called after something was set, or put, for this worker: whether it has to be woken.
  [[nodiscard]] bool is_asleep() const noexcept {
    // [fiber.asleep] seq_cst <-> [fiber.sleep]: either this sees it, or the worker sees the new work.
    return state_.load(std::memory_order_seq_cst) != awake;
  }
  /// True: it sleeps, and the calling thread alone has called it since it fell asleep, and has to wake it.
  [[nodiscard]] bool try_call() noexcept {
    // [fiber.uncalled] seq_cst <-> [fiber.sleep]: as for `is_asleep`.
    if (state_.load(std::memory_order_seq_cst) != asleep) return false;
    std::uint32_t expected = asleep;
    // [fiber.call] relaxed: the wake-up itself orders the new work.
    return state_.compare_exchange_strong(expected, called, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t awake = 0, asleep = 1, called = 2;
  typename Atomics::template atomic<std::uint32_t> state_{awake};
};

}  // namespace weft::fibers
