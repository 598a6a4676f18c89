// SPDX-License-Identifier: BSD-3-Clause
// A lock-free stack of small indices: the free elements of a fixed array.
//
// Progress: lock-free. Callers: any thread may call any function. Linearization: the successful exchange of
// `head_`. Reuse: `head_` also counts every exchange. So a call notices an index that was taken and put back meanwhile,
// unless 2^32 exchanges pass within the call (ABA). The links lie outside of the managed array: a reader that is too
// late reads a stale link, never bytes of an element in use. Model test: tests/model/index_stack_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "weft/detail/atomics.hpp"

namespace weft::core {

template <class Atomics = detail::std_atomics>
class basic_index_stack {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// Holds indices below `count`; begins empty.
  explicit basic_index_stack(std::uint32_t count)
      : links_{std::make_unique<typename Atomics::template atomic<std::uint32_t>[]>(count)} {}

  void push(std::uint32_t index) noexcept {
    // [stack.look] relaxed: a wrong guess makes the exchange below fail.
    std::uint64_t seen = head_.load(std::memory_order_relaxed);
    for (;;) {
      // [stack.link] relaxed: published by the exchange.
      links_[index].store(index_of(seen), std::memory_order_relaxed);
      // [stack.push] release -> [stack.pop], [stack.peek], [stack.pop_many], [stack.peek_many]: the link, and the
      // last user's writes under this index.
      if (head_.compare_exchange_weak(seen, next_head(seen, index), std::memory_order_release,
                                      std::memory_order_relaxed)) {
        return;
      }
    }
  }

  /// The index pushed last, or `none`.
  [[nodiscard]] std::uint32_t pop() noexcept {
    // [stack.peek] acquire <- [stack.push], [stack.push_many]: the link of the index on top.
    std::uint64_t seen = head_.load(std::memory_order_acquire);
    for (;;) {
      const std::uint32_t top = index_of(seen);
      if (top == none) return none;
      // [stack.next] relaxed: stale only if the head has changed, and then the exchange fails.
      const std::uint32_t below = links_[top].load(std::memory_order_relaxed);
      // [stack.pop] acquire <- [stack.push], [stack.push_many]: the link of the index on top, and the element under it.
      if (head_.compare_exchange_weak(seen, next_head(seen, below), std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        return top;
      }
    }
  }

  /// Takes up to `room` indices by one exchange, into `out`; returns how many.
  [[nodiscard]] std::uint32_t pop_many(std::uint32_t* out, std::uint32_t room) noexcept {
    // [stack.peek_many] acquire <- [stack.push], [stack.push_many]: the links of the indices on top.
    std::uint64_t seen = head_.load(std::memory_order_acquire);
    for (;;) {
      std::uint32_t count = 0;
      std::uint32_t top = index_of(seen);
      while (top != none && count < room) {
        out[count++] = top;
        // [stack.next_many] relaxed: stale only if the head has changed, and then the exchange fails.
        top = links_[top].load(std::memory_order_relaxed);
      }
      if (count == 0) return 0;
      // [stack.pop_many] acquire <- [stack.push], [stack.push_many]: the links, and the elements under the indices.
      if (head_.compare_exchange_weak(seen, next_head(seen, top), std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        return count;
      }
    }
  }

  /// Forgets all indices. **Threads**: the only one of the process.
  void clear() noexcept {
    // [stack.clear] relaxed: the process has one thread.
    const std::uint64_t seen = head_.load(std::memory_order_relaxed);
    // [stack.clear] relaxed: the process has one thread.
    head_.store(next_head(seen, none), std::memory_order_relaxed);
  }

  /// Puts `count` indices back by one exchange, the first of them on top.
  void push_many(const std::uint32_t* indices, std::uint32_t count) noexcept {
    if (count == 0) return;
    for (std::uint32_t i = 0; i + 1 < count; ++i) {
      // [stack.link_many] relaxed: published by the exchange.
      links_[indices[i]].store(indices[i + 1], std::memory_order_relaxed);
    }
    // [stack.look_many] relaxed: a wrong guess makes the exchange below fail.
    std::uint64_t seen = head_.load(std::memory_order_relaxed);
    for (;;) {
      // [stack.link_many] relaxed: published by the exchange.
      links_[indices[count - 1]].store(index_of(seen), std::memory_order_relaxed);
      // [stack.push_many] release -> [stack.pop], [stack.peek], [stack.pop_many], [stack.peek_many]: the links, and
      // the last users' writes under these indices.
      if (head_.compare_exchange_weak(seen, next_head(seen, indices[0]), std::memory_order_release,
                                      std::memory_order_relaxed)) {
        return;
      }
    }
  }

  [[nodiscard]] bool looks_empty() const noexcept {
    // [stack.empty] relaxed: a hint.
    return index_of(head_.load(std::memory_order_relaxed)) == none;
  }

 private:
  // Low half: index + 1, so that zero is empty. High half: exchanges so far.
  static std::uint32_t index_of(std::uint64_t head) noexcept { return static_cast<std::uint32_t>(head) - 1; }
  static std::uint64_t next_head(std::uint64_t seen, std::uint32_t index) noexcept {
    return ((seen >> 32) + 1) << 32 | static_cast<std::uint32_t>(index + 1);
  }

  std::unique_ptr<typename Atomics::template atomic<std::uint32_t>[]> links_;
  alignas(detail::cache_line_bytes) typename Atomics::template atomic<std::uint64_t> head_{0};
};

using index_stack = basic_index_stack<>;

}  // namespace weft::core
