// SPDX-License-Identifier: BSD-3-Clause
// What a device has to continue later: operations, because a ring was full, a lock was taken, or the work is long
// (yan2025-lci, 5.1.5); and entries that are no operations (retry_list.hpp). Any thread adds to it; the thread that
// holds the device's poll gate takes out.
//
// A call of progress tries a bounded number of operations that it does not complete, the others in later calls, so that
// a million posts to a rank that reads nothing cost a call no more than a hundred. Posts have a bound of their own:
// answers to peers do not wait until all posts have been tried.
//
// Cost if it is empty: reads of two lines that are not written then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/assertion.hpp"
#include "base/intrusive_stack.hpp"
#include "core/device/retry_list.hpp"
#include "core/operation/operation_state.hpp"

namespace weft::core {

class backlog {
 public:
  /// **Threads**: the one inside the gate.
  [[nodiscard]] bool is_empty() const noexcept { return operations_.is_empty() && waiting_count_ == 0; }
  /// Whether only entries wait, for which a peer has to make room. **Threads**: the one inside the gate.
  [[nodiscard]] bool has_just_entries() noexcept {
    const operation_state& entries = entries_.in_backlog();
    if (waiting_count_ == 0) return operations_.is_just(entries);
    return waiting_count_ == 1 && operations_.is_empty() && waiting_[0].first == &entries;
  }

  /// **Threads**: any.
  void add(operation_state& operation) noexcept {
    // [own] until it is added
    WEFT_ASSERT_CHECKED(operation.next.load(std::memory_order_relaxed) >= step::post_again);
    operations_.add(operation);
  }
  /// **Returns** whether the caller has to add `for_entries()` next. `entry` may be destroyed before this returns.
  /// **Threads**: any.
  [[nodiscard]] bool add(retry_entry& entry) noexcept { return entries_.add(entry); }
  /// The operation that stands for all entries.
  [[nodiscard]] operation_state& for_entries() noexcept { return entries_.in_backlog(); }

  /// Calls `try_step` for operations, the longest waiting first, each at most once. It answers whether the operation
  /// has left the backlog; another one is tried again by a later call. **Threads**: the one inside the gate.
  template <class TryStep>
  void each(const TryStep& try_step) noexcept {
    take_added();
    for (std::size_t kind = 0; kind < waiting_.size(); ++kind) {
      std::uint32_t left_in_vain = kind == of_posts ? vain_posts_max : vain_steps_max;
      for (std::uint32_t left = waiting_[kind].count; left != 0 && left_in_vain != 0; --left) {
        operation_state& next = take_first(waiting_[kind]);
        if (try_step(next)) continue;
        wait(next);
        --left_in_vain;
      }
    }
  }

  /// All operations, chained by `behind`. **Threads**: the one inside the gate, or no other one uses the device.
  [[nodiscard]] operation_state* take_all() noexcept {
    take_added();
    operation_state* out = nullptr;
    for (std::size_t kind = waiting_.size(); kind-- != 0;) {
      if (waiting_[kind].first == nullptr) continue;
      waiting_[kind].last->behind = out;
      out = waiting_[kind].first;
      waiting_[kind] = {};
    }
    waiting_count_ = 0;
    return out;
  }
  /// The step of `for_entries()`. **Returns** whether the list of entries is empty now.
  [[nodiscard]] bool try_entries() noexcept { return entries_.try_entries(); }
  /// The entries of a device that is being destroyed. **Threads**: no other one uses the device.
  [[nodiscard]] retry_entry* take_entries() noexcept { return entries_.take_all(); }

 private:
  struct queue {
    operation_state* first = nullptr;
    operation_state* last = nullptr;
    std::uint32_t count = 0;
  };
  static constexpr std::size_t of_posts = 1;
  static constexpr std::uint32_t vain_steps_max = 256;
  static constexpr std::uint32_t vain_posts_max = 64;

  void take_added() noexcept {
    for (operation_state* each = operations_.take_all(); each != nullptr;) {
      operation_state* const behind = each->behind;
      wait(*each);
      each = behind;
    }
  }
  void wait(operation_state& operation) noexcept {
    const step next = operation.next.load(std::memory_order_relaxed);  // [own] inside the gate
    queue& into = waiting_[next == step::post_again ? of_posts : 0];
    operation.behind = nullptr;
    (into.last != nullptr ? into.last->behind : into.first) = &operation;
    into.last = &operation;
    ++into.count;
    ++waiting_count_;
  }
  [[nodiscard]] operation_state& take_first(queue& from) noexcept {
    operation_state& out = *from.first;
    from.first = out.behind;
    if (from.first == nullptr) from.last = nullptr;
    --from.count;
    --waiting_count_;
    return out;
  }

  base::intrusive_stack<operation_state> operations_;  // added since the last call of progress
  std::uint32_t waiting_count_ = 0;
  std::array<queue, 2> waiting_;  // posts apart from the others
  retry_list entries_;
};

}  // namespace weft::core
