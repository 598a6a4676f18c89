// SPDX-License-Identifier: BSD-3-Clause
// A stack of nodes that link themselves, by their member `behind`. Any thread adds; one at a time takes all of them.
//
// Cost if it is empty: one read of a line that is not written then. Adding is one exchange; nothing is allocated.
// Progress: adding is lock-free, taking wait-free. Linearization: the exchange of `top_`. Reuse: the taker empties the
// stack as a whole, so no node can come back while an exchange looks at it.
// Model test: tests/model/intrusive_stack_test.cpp.
#pragma once

#include <atomic>

#include "weft/detail/atomics.hpp"

namespace weft::base {

template <class Node, class Atomics = detail::std_atomics>
class intrusive_stack {
 public:
  void add(Node& node) noexcept {
    // [intrusive_stack.look] relaxed: a wrong guess makes the exchange fail.
    Node* top = top_.load(std::memory_order_relaxed);
    do {
      Atomics::write_nonatomic(&node.behind, &top, sizeof top);
      // [intrusive_stack.add] release -> [intrusive_stack.take], [intrusive_stack.is_just]: the node and its link.
    } while (!top_.compare_exchange_weak(top, &node, std::memory_order_release, std::memory_order_relaxed));
  }

  [[nodiscard]] bool is_empty() const noexcept {
    // [intrusive_stack.empty] relaxed: what is missed now is found by the next poll.
    return top_.load(std::memory_order_relaxed) == nullptr;
  }

  /// Whether `node` is there and no other one. **Threads**: the one that takes.
  [[nodiscard]] bool is_just(const Node& node) const noexcept {
    // [intrusive_stack.is_just] acquire <- [intrusive_stack.add]: the link.
    if (top_.load(std::memory_order_acquire) != &node) return false;
    Node* below = nullptr;
    Atomics::read_nonatomic(&below, &node.behind, sizeof below);
    return below == nullptr;
  }

  /// All nodes, the longest waiting first; the stack is empty then.
  [[nodiscard]] Node* take_all() noexcept {
    // [intrusive_stack.take] acquire <- [intrusive_stack.add]: the nodes and their links.
    Node* top = top_.exchange(nullptr, std::memory_order_acquire);
    Node* in_order = nullptr;
    while (top != nullptr) {
      Node* below = nullptr;
      Atomics::read_nonatomic(&below, &top->behind, sizeof below);
      Atomics::write_nonatomic(&top->behind, &in_order, sizeof in_order);
      in_order = top;
      top = below;
    }
    return in_order;
  }

 private:
  alignas(detail::cache_line_bytes) typename Atomics::template atomic<Node*> top_{nullptr};
};

}  // namespace weft::base
