// SPDX-License-Identifier: BSD-3-Clause
// Lists and counters of continuations: how many requests of one are open, where those wait that may run, and how many
// of a continuation request's have not run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::mpi {

/// How many requests of a continuation have not ended, and whether the call that attaches it has not returned.
/// **Threads**: any. Progress: wait-free. Linearization: the operations on `count_`. Model test:
/// tests/model/continuation_test.cpp.
template <class Atomics = weft::detail::std_atomics>
class basic_open_requests {
 public:
  /// Before the first request is attached.
  void reset() noexcept { count_.store(1, std::memory_order_relaxed); }  // [own] no other thread knows of it
  /// Before one more request is attached.
  void add() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }  // [own] the attachment publishes it
  /// True: it was the last one. The continuation may be gone where it is false.
  [[nodiscard]] bool drop() noexcept {
    // [open_requests.drop] acq_rel <-> [open_requests.drop], [open_requests.alone]: the results of the requests.
    return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  /// Whether the call that attaches it is all that is left: no other thread uses the continuation any more.
  [[nodiscard]] bool is_alone() const noexcept {
    // [open_requests.alone] acquire <- [open_requests.drop]: the other threads' last use.
    return count_.load(std::memory_order_acquire) == 1;
  }

 private:
  typename Atomics::template atomic<std::uint32_t> count_{1};
};

/// A list of nodes, which link themselves by `next`, that is open or closed while it is empty. What that means is its
/// user's. **Threads**: any. Progress: lock-free, `take_all` and `try_close` wait-free. Linearization: the changes of
/// `first_`. Reuse: nodes are taken all together, so that none is pushed again while an exchange looks at it. Model
/// test: tests/model/continuation_test.cpp.
template <class Node, class Atomics = weft::detail::std_atomics>
class basic_gated_list {
 public:
  /// Returns whether it was closed and empty.
  bool push(Node& node) noexcept {
    // [gated_list.look] relaxed: a wrong guess makes the exchange fail.
    std::uintptr_t seen = first_.load(std::memory_order_relaxed);
    while (!try_push(node, seen)) {
    }
    return seen == closed;
  }
  /// False: it is open and empty, and nothing has happened.
  [[nodiscard]] bool push_unless_open(Node& node) noexcept {
    // [gated_list.look] relaxed: a wrong guess makes the exchange fail.
    std::uintptr_t seen = first_.load(std::memory_order_relaxed);
    do {
      if (seen == open) return false;
    } while (!try_push(node, seen));
    return true;
  }

  [[nodiscard]] bool has_nodes() const noexcept {
    return first_.load(std::memory_order_relaxed) > open;  // [hint] a later look finds what this one misses
  }
  /// All nodes, the one that was pushed first at the beginning, or null. It is empty, and open or closed, afterwards.
  [[nodiscard]] Node* take_all(bool stays_open) noexcept {
    // [gated_list.take] acquire <- [gated_list.push]: the nodes and their links.
    std::uintptr_t each = first_.exchange(stays_open ? open : closed, std::memory_order_acquire);
    Node* out = nullptr;
    while (each > open) {
      Node* const node = reinterpret_cast<Node*>(each);
      each = link_of(*node);
      set_link(*node, out);
      out = node;
    }
    return out;
  }
  /// False: it has nodes, or is closed.
  [[nodiscard]] bool try_close() noexcept {
    std::uintptr_t seen = open;
    // relaxed: it carries nothing.
    return first_.compare_exchange_strong(seen, closed, std::memory_order_relaxed, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_closed() const noexcept {
    // [gated_list.closed] relaxed: a thread that asks again sees it.
    return first_.load(std::memory_order_relaxed) == closed;
  }

 private:
  static constexpr std::uintptr_t closed = 0, open = 1;

  [[nodiscard]] bool try_push(Node& node, std::uintptr_t& seen) noexcept {
    set_link(node, seen > open ? reinterpret_cast<Node*>(seen) : nullptr);
    // [gated_list.push] release -> [gated_list.take]: the node and its link.
    return first_.compare_exchange_weak(seen, reinterpret_cast<std::uintptr_t>(&node), std::memory_order_release,
                                        std::memory_order_relaxed);
  }
  static void set_link(Node& node, Node* next) noexcept { Atomics::write_nonatomic(&node.next, &next, sizeof next); }
  static std::uintptr_t link_of(const Node& node) noexcept {
    Node* out = nullptr;
    Atomics::read_nonatomic(&out, &node.next, sizeof out);
    return reinterpret_cast<std::uintptr_t>(out);
  }

  typename Atomics::template atomic<std::uintptr_t> first_{closed};
};

/// How many continuations were registered, and how many of them have ended. Threads with small numbers count in words
/// of their own, in lines that no other thread writes; all others in common ones. **Threads**: any. Progress:
/// wait-free. Linearization of `are_all_ended`, where it is true: its last load of an ended count; the numbers never
/// fall, and an end is counted after its beginning. Model test: tests/model/continuation_test.cpp.
template <std::size_t Lines, class Atomics = weft::detail::std_atomics>
class basic_registrations {
 public:
  /// `thread`: its number, which no other living thread has; from `Lines` on it may be that of several.
  void begin(std::size_t thread) noexcept {
    if (thread < Lines) {
      // [own] The registration publishes it.
      auto& mine = own_[thread].begun;
      mine.store(mine.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      common_.begun.fetch_add(1, std::memory_order_relaxed);  // [own] likewise
    }
  }
  void end(std::size_t thread) noexcept {
    if (thread < Lines) {
      auto& mine = own_[thread].ended;
      // [registrations.end] release -> [registrations.sum]: what the continuation did, and its beginning.
      mine.store(mine.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    } else {
      // [registrations.end_common] release -> [registrations.sum]: likewise.
      common_.ended.fetch_add(1, std::memory_order_release);
    }
  }
  /// Whether all that were registered before the call have ended.
  [[nodiscard]] bool are_all_ended() const noexcept {
    // [registrations.sum] acquire <- [registrations.end], [registrations.end_common]: what the continuations did.
    std::uint64_t open = common_.ended.load(std::memory_order_acquire);
    // [registrations.sum] acquire <- [registrations.end], [registrations.end_common]: likewise.
    for (const line& each : own_) open += each.ended.load(std::memory_order_acquire);
    open -= common_.begun.load(std::memory_order_relaxed);  // [own] behind the ends, which have published it
    for (const line& each : own_) open -= each.begun.load(std::memory_order_relaxed);  // [own] likewise
    return open == 0;
  }

 private:
  struct alignas(weft::detail::cache_line_bytes) line {
    typename Atomics::template atomic<std::uint64_t> begun{0}, ended{0};
  };
  std::array<line, Lines> own_{};
  line common_;
};

}  // namespace weft::mpi
