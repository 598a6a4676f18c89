// SPDX-License-Identifier: BSD-3-Clause
// What a device tries again in each call of progress, and what has no operation of its own: posts of a graph that
// answered *retry*, the signal of a graph's end for which there was no room, and replies that found none.
//
// All entries together are one operation of the device's backlog, which is there while the list has entries. So a quiet
// device pays nothing, and nothing is allocated. Adding is one addition and one exchange.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/intrusive_stack.hpp"
#include "core/device/retry_entry.hpp"
#include "core/operation/operation_state.hpp"

namespace weft::core {

class retry_list {
 public:
  retry_list() noexcept {
    // [own] no other thread knows it yet.
    in_backlog_.next.store(step::try_entries, std::memory_order_relaxed);
  }
  retry_list(const retry_list&) = delete;
  retry_list& operator=(const retry_list&) = delete;
  /// The operation that stands for all entries in the backlog.
  [[nodiscard]] operation_state& in_backlog() noexcept { return in_backlog_; }

  /// **Returns** whether the list was empty: then the caller has to put `in_backlog()` into the backlog. **Threads**:
  /// any.
  [[nodiscard]] bool add(retry_entry& entry) noexcept {
    // [retries.count] acq_rel -> [retries.count]: the thread that counts from 0 puts the operation into the backlog,
    // after the thread that has counted down to 0 took it out.
    const bool is_first = count_.fetch_add(1, std::memory_order_acq_rel) == 0;
    waiting_.add(entry);
    return is_first;
  }

  /// Tries each entry once. **Returns** whether the list is empty now: then the operation has left the backlog, and
  /// another thread may be putting it there again. **Threads**: the one inside the gate.
  [[nodiscard]] bool try_entries() noexcept {
    std::uint32_t tried = 0;
    std::uint32_t moved = 0;
    for (retry_entry* entry = waiting_.take_all(); entry != nullptr; ++tried) {
      retry_entry* const behind = entry->behind;
      moved += entry->try_again() ? 1 : 0;
      entry = behind;
    }
    // Progress finds there whether the operation has moved something.
    in_backlog_.copying.moved.fetch_add(moved, std::memory_order_relaxed);  // [own] inside the gate
    // [retries.count] acq_rel -> [retries.count]: the operation has left the backlog before it is put there again.
    return count_.fetch_sub(tried, std::memory_order_acq_rel) == tried;
  }

  /// The entries of a device that is being destroyed. Not in a child of fork(), where their owners may have been
  /// destroyed before. **Threads**: no other one uses the device.
  [[nodiscard]] retry_entry* take_all() noexcept { return waiting_.take_all(); }

 private:
  std::atomic<std::uint32_t> count_{0};
  base::intrusive_stack<retry_entry> waiting_;
  operation_state in_backlog_;
};

}  // namespace weft::core
