// SPDX-License-Identifier: BSD-3-Clause
// A fence in every core for several fibers together.
//
// A fiber that is about to be suspended announces that, and then needs a fence in every core (membarrier) before its
// last look at its condition: then either that look sees a signal, or the thread that signals sees the announcement.
// Another thread may call the fence. Any fence serves the fiber that began after the announcement. So fibers that first
// let the other ready ones run, which announce themselves meanwhile, need one system call together.
//
// The argument has two halves. The announcement is ordered before the fence: the fence that serves the fiber took a
// number from `begun_` after the fiber had read it, so it sees all earlier stores of the fiber. The stores of a
// signalling thread before its fence are ordered before the fiber's last look: the fiber reads the number in `ended_`.
//
// Cost: two atomic operations for each fiber, three for the one that calls the fence.
#pragma once

#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::core {

/// **Threads**: any. Progress: wait-free, but for `pass`, which is lock-free. Linearization: the operations on
/// `begun_`. Reuse: numbers wrap after 2^64 fences. Model test: tests/model/shared_fence_test.cpp.
template <class Atomics = detail::std_atomics>
class basic_shared_fence {
 public:
  /// Called after the stores that announce the caller. **Returns**: a ticket for `has_passed`.
  [[nodiscard]] std::uint64_t announce() noexcept {
    // [shared_fence.announce] release -> [shared_fence.begin]: the announcement. It changes nothing, but takes its
    // place in the order of numbers, which a load would not.
    return begun_.fetch_add(0, std::memory_order_release);
  }
  /// Whether a fence has ended that began after `ticket` was given.
  [[nodiscard]] bool has_passed(std::uint64_t ticket) const noexcept {
    // [shared_fence.passed] acquire <- [shared_fence.end]: the stores of signalling threads before their fence.
    return ended_.load(std::memory_order_acquire) > ticket;
  }

  /// Calls `fence_all()`, for all that have announced themselves before. False: that answered false.
  template <class Fence>
  [[nodiscard]] bool pass(Fence fence_all) noexcept {
    // [shared_fence.begin] acquire <- [shared_fence.announce]: the announcements with a smaller ticket.
    const std::uint64_t mine = begun_.fetch_add(1, std::memory_order_acquire) + 1;
    if (!fence_all()) return false;
    // [shared_fence.last] relaxed: a larger number says that a fence has ended that began later.
    std::uint64_t last = ended_.load(std::memory_order_relaxed);
    // [shared_fence.end] release -> [shared_fence.passed]: the stores of signalling threads before their fence.
    while (last < mine &&
           !ended_.compare_exchange_weak(last, mine, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return true;
  }

 private:
  typename Atomics::template atomic<std::uint64_t> begun_{0};  // fences, each with its number
  typename Atomics::template atomic<std::uint64_t> ended_{0};  // the largest number of one that has ended
};

using shared_fence = basic_shared_fence<>;

}  // namespace weft::core
