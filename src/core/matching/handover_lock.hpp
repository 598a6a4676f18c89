// SPDX-License-Identifier: BSD-3-Clause
// A lock for which no thread waits. A thread that finds it taken can leave a node behind, as if it had handled it now:
// the thread inside handles the nodes that were left before it leaves, in the order in which they were left.
//
// One word: 0, free; 1, taken; or taken, with a stack of nodes (the address of the last one, and 1). So no node is left
// at a lock that is free, and the thread inside misses none.
//
// Cost: a compare-and-exchange to enter, and one to leave. Progress: wait-free, but for `enter_or_leave_behind`, which
// is lock-free, as other threads' nodes make it try again. Callers: any thread; `try_leave` and `take_left` the thread
// inside. Linearization: the exchanges; a node is handled in the order of the exchange that left it. Reuse: nodes are
// taken out together, so an old address in the word stands for that node as it is now. Model test:
// tests/model/handover_lock_test.cpp.
#pragma once

#include <cstdint>

#include "base/assertion.hpp"
#include "weft/detail/atomics.hpp"

namespace weft::core {

/// `Node` has a link `behind`, which belongs to the lock while the node is left.
template <class Node, class Atomics = detail::std_atomics>
class basic_handover_lock {
 public:
  [[nodiscard]] [[gnu::always_inline]] bool try_enter() noexcept {
    std::uintptr_t seen = open;
    // [handover.enter] acquire <- [handover.leave]: what the last thread inside did.
    return word_.compare_exchange_strong(seen, taken, std::memory_order_acquire, std::memory_order_relaxed);
  }

  /// True: the caller is inside, and `mine` is its own. False: the thread inside handles `mine`, and may have ended its
  /// use when this returns.
  [[nodiscard]] bool enter_or_leave_behind(Node& mine) noexcept {
    // [handover.look] relaxed: a wrong guess makes the exchange fail.
    std::uintptr_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      if (seen == open) {
        // [handover.enter] acquire <- [handover.leave]: what the last thread inside did.
        if (word_.compare_exchange_weak(seen, taken, std::memory_order_acquire, std::memory_order_relaxed)) return true;
      } else {
        mine.behind.set(node_in(seen));
        // [handover.left] release -> [handover.take]: the node.
        if (word_.compare_exchange_weak(seen, reinterpret_cast<std::uintptr_t>(&mine) | taken,
                                        std::memory_order_release, std::memory_order_relaxed)) {
          return false;
        }
      }
    }
  }

  /// False: nodes were left, and the caller is still inside.
  [[nodiscard]] [[gnu::always_inline]] bool try_leave() noexcept {
    std::uintptr_t seen = taken;
    // [handover.leave] release -> [handover.enter]: what this thread did.
    return word_.compare_exchange_strong(seen, open, std::memory_order_release, std::memory_order_relaxed);
  }

  /// The nodes that were left, chained by `behind`, the oldest first.
  [[nodiscard]] Node* take_left() noexcept {
    // [handover.take] acquire <- [handover.left]: the nodes.
    Node* left = node_in(word_.exchange(taken, std::memory_order_acquire));
    Node* out = nullptr;
    while (left != nullptr) {
      auto* const next = static_cast<Node*>(left->behind.get());
      left->behind.set(out);
      out = left;
      left = next;
    }
    return out;
  }

 private:
  static constexpr std::uintptr_t open = 0;
  static constexpr std::uintptr_t taken = 1;
  static_assert(alignof(Node) > 1);

  [[nodiscard]] static Node* node_in(std::uintptr_t word) noexcept { return reinterpret_cast<Node*>(word & ~taken); }

  typename Atomics::template atomic<std::uintptr_t> word_{open};
};

}  // namespace weft::core
