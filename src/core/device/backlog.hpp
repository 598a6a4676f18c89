// Operations that a device has to go on with later, because a ring was full, a lock taken, or the work is long
// (yan2025-lci, 5.1.5).
//
// Cost if it is empty: one read of a line that is not written then. Any thread adds operations, by one exchange; only
// the thread that holds the device's poll gate takes them out. Intrusive: nothing is allocated.
// Progress: adding is lock-free, taking wait-free. Linearization: the exchange of `added_`. Reuse: the taker empties
// the stack as a whole, so no node can come back while an exchange looks at it.
// Model test: tests/model/backlog_test.cpp.
#pragma once

#include "core/device/operation_state.hpp"
#include "weft/detail/atomics.hpp"

namespace weft::core {

template <class Operation, class Atomics = detail::std_atomics>
class basic_backlog {
 public:
  void add(Operation& operation) noexcept {
    // [backlog.look] relaxed: a wrong guess makes the exchange fail.
    Operation* top = added_.load(std::memory_order_relaxed);
    do {
      Atomics::write_nonatomic(&operation.behind, &top, sizeof top);
      // [backlog.add] release -> [backlog.take]: the operation and its link.
    } while (!added_.compare_exchange_weak(top, &operation, std::memory_order_release, std::memory_order_relaxed));
  }

  [[nodiscard]] bool is_empty() const noexcept {
    // [backlog.empty] relaxed: what is missed now is found by the next poll.
    return added_.load(std::memory_order_relaxed) == nullptr;
  }

  /// All operations, the longest waiting first; the backlog is empty then.
  [[nodiscard]] Operation* take_all() noexcept {
    // [backlog.take] acquire <- [backlog.add]: the operations and their links.
    Operation* top = added_.exchange(nullptr, std::memory_order_acquire);
    Operation* in_order = nullptr;
    while (top != nullptr) {
      Operation* below = nullptr;
      Atomics::read_nonatomic(&below, &top->behind, sizeof below);
      Atomics::write_nonatomic(&top->behind, &in_order, sizeof in_order);
      in_order = top;
      top = below;
    }
    return in_order;
  }

 private:
  alignas(detail::cache_line_bytes) typename Atomics::template atomic<Operation*> added_{nullptr};
};

using backlog = basic_backlog<operation_state>;

}  // namespace weft::core
