// What a device has to continue later: operations, because a ring was full, a lock was taken, or the work is long
// (yan2025-lci, 5.1.5); and entries that are no operations (retry_list.hpp). Any thread adds to it; the thread that
// holds the device's poll gate takes out.
//
// Cost if it is empty: one read of a line that is not written then.
#pragma once

#include "base/assertion.hpp"
#include "base/intrusive_stack.hpp"
#include "core/device/retry_list.hpp"
#include "core/operation/operation_state.hpp"

namespace weft::core {

class backlog {
 public:
  [[nodiscard]] bool is_empty() const noexcept { return operations_.is_empty(); }
  /// Whether only entries wait, for which a peer has to make room.
  [[nodiscard]] bool has_just_entries() noexcept { return operations_.is_just(entries_.in_backlog()); }

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

  /// All operations, chained by `behind`. The caller does a step of each, and adds an operation that is not complete
  /// again.
  [[nodiscard]] operation_state* take_all() noexcept { return operations_.take_all(); }
  /// The step of `for_entries()`. **Returns** whether the list of entries is empty now.
  [[nodiscard]] bool try_entries() noexcept { return entries_.try_entries(); }
  /// The entries of a device that is being destroyed. **Threads**: no other one uses the device.
  [[nodiscard]] retry_entry* take_entries() noexcept { return entries_.take_all(); }

 private:
  base::intrusive_stack<operation_state> operations_;
  retry_list entries_;
};

}  // namespace weft::core
