// SPDX-License-Identifier: BSD-3-Clause
// A lock-free stack of nodes that have numbers and are never destroyed while it lives. It links them by their numbers.
//
// Progress: lock-free. Callers: any thread may call any function. Linearization: the successful exchange of `head_`.
// Reuse: `head_` also counts every exchange, so that a call notices a node that was taken and put back meanwhile,
// unless 2^32 exchanges pass within the call (ABA). A reader that is too late reads a stale link of a node in use: only
// this stack writes links. Model test: tests/model/number_stack_test.cpp.
#pragma once

#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::mpi {

/// `Node` has a `number`, which stays as it is, and an atomic `below` of 32 bits.
template <class Node, class Atomics = weft::detail::std_atomics>
class basic_number_stack {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  void push(Node& node) noexcept {
    // [number_stack.look] relaxed: a wrong guess makes the exchange fail.
    std::uint64_t seen = head_.load(std::memory_order_relaxed);
    do {
      // [number_stack.link] relaxed: published by the exchange.
      node.below.store(number_of(seen), std::memory_order_relaxed);
      // [number_stack.push] release -> [number_stack.peek], [number_stack.pop], [number_stack.take_all]: the link, and
      // all that was written to the node.
    } while (!head_.compare_exchange_weak(seen, next_head(seen, node.number), std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  /// The node pushed last, or null. `find` returns the node of a number.
  template <class Find>
  [[nodiscard]] Node* pop(const Find& find) noexcept {
    // [number_stack.peek] acquire <- [number_stack.push]: the link of the node on top.
    std::uint64_t seen = head_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint32_t top = number_of(seen);
      if (top == none) return nullptr;
      Node& node = find(top);
      // [number_stack.next] relaxed: stale only if the head has changed, and then the exchange fails.
      const std::uint32_t below = node.below.load(std::memory_order_relaxed);
      // [number_stack.pop] acquire <- [number_stack.push]: the link of the node on top, and the node.
      if (head_.compare_exchange_weak(seen, next_head(seen, below), std::memory_order_acquire,
                                      std::memory_order_acquire))
        return &node;
    }
  }

  /// The number of the node pushed last; the `below` of each is the next one. The stack is empty then.
  [[nodiscard]] std::uint32_t take_all() noexcept {
    // [number_stack.look_all] relaxed: a wrong guess makes the exchange fail.
    std::uint64_t seen = head_.load(std::memory_order_relaxed);
    // [number_stack.take_all] acquire <- [number_stack.push]: the links and the nodes.
    while (!head_.compare_exchange_weak(seen, next_head(seen, none), std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
    }
    return number_of(seen);
  }

 private:
  // Low half: number + 1, so that zero is empty. High half: exchanges so far.
  static std::uint32_t number_of(std::uint64_t head) noexcept { return static_cast<std::uint32_t>(head) - 1; }
  static std::uint64_t next_head(std::uint64_t seen, std::uint32_t number) noexcept {
    return ((seen >> 32) + 1) << 32 | static_cast<std::uint32_t>(number + 1);
  }

  alignas(weft::detail::cache_line_bytes) typename Atomics::template atomic<std::uint64_t> head_{0};
};

}  // namespace weft::mpi
