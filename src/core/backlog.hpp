// Operations that a device has still to do something for, because a ring was full, a lock taken, or the work is long
// (yan2025-lci, 5.1.5).
//
// Cost where it is empty: one read of a line that nobody writes then. Anybody puts operations in, by one exchange;
// only the thread that holds the device's poll gate takes them out. Intrusive: nothing is allocated.
// Progress: adding is lock-free, taking wait-free. Linearization: the exchange of `added_`. Reuse: the taker empties
// the stack as a whole, so no node can come back while an exchange looks at it.
#pragma once

#include <atomic>

#include "core/operation_state.hpp"

namespace weft::core {

class backlog {
 public:
  void add(operation_state& operation) noexcept {
    // [backlog.look] relaxed: a wrong guess makes the exchange fail.
    operation_state* top = added_.load(std::memory_order_relaxed);
    do {
      operation.behind = top;
      // [backlog.add] release -> [backlog.take]: the operation and its link.
    } while (!added_.compare_exchange_weak(top, &operation, std::memory_order_release, std::memory_order_relaxed));
  }

  [[nodiscard]] bool is_empty() const noexcept {
    // [backlog.empty] relaxed: what is missed now is found by the next poll.
    return added_.load(std::memory_order_relaxed) == nullptr;
  }

  /// All operations, the longest waiting first; the backlog is empty then.
  [[nodiscard]] operation_state* take_all() noexcept {
    // [backlog.take] acquire <- [backlog.add]: the operations and their links.
    operation_state* top = added_.exchange(nullptr, std::memory_order_acquire);
    operation_state* in_order = nullptr;
    while (top != nullptr) {
      operation_state* const below = top->behind;
      top->behind = in_order;
      in_order = top;
      top = below;
    }
    return in_order;
  }

 private:
  alignas(detail::cache_line_bytes) std::atomic<operation_state*> added_{nullptr};
};

}  // namespace weft::core
