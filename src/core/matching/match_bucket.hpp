// SPDX-License-Identifier: BSD-3-Clause
// A bucket of the matching table (matching_table.hpp): one cache line with a lock and three entries of a key each.
//
// Progress, linearization and reuse: as the table says. All zeros: not in use yet, see `size`. Entries are used from
// the first on without gaps. Keys are spilled (chained through their nodes) only if all entries are taken.
#pragma once

#include <cstdint>

#include "base/assertion.hpp"
#include "core/matching/match_node.hpp"
#include "weft/detail/atomics.hpp"

namespace weft::core {

template <class Atomics>
struct alignas(detail::cache_line_bytes) basic_match_bucket {
  using node = basic_match_node<Atomics>;
  static constexpr unsigned entry_count = 3;

  // Values of `size`.
  static constexpr std::uint32_t locked = 0x8000'0000;
  static constexpr std::uint32_t not_split_off = 0;

  struct entry {
    guarded<std::uint64_t, Atomics> print;
    guarded<node*, Atomics> head;
  };

  // The position of a key. `slot`: of its entry, or, if the key is not there and `head` is null, of the first free
  // entry. If `slot` is `entry_count`, the key is spilled, or no entry is free.
  struct position {
    node* head = nullptr;
    unsigned slot = entry_count;
    node* spilled_before = nullptr;
  };

  /// The lock, and, while it is free, the number of buckets that the table had when this bucket was last split, or
  /// split off from another one: its keys are the keys whose fingerprints modulo `size` are its index. `not_split_off`:
  /// its keys are still in the bucket from which it will be split off.
  typename Atomics::template atomic<std::uint32_t> size;
  guarded<node*, Atomics> spilled;
  entry entries[entry_count];

  /// Returns the former `size`; `locked`: another thread has the lock.
  [[nodiscard]] [[gnu::always_inline]] std::uint32_t try_enter_once() noexcept {
    // [matching.enter] acquire <- [matching.leave]: the bucket and the nodes in it, as the last holder left them.
    return size.exchange(locked, std::memory_order_acquire);
  }

  /// `spins_max`: how often the thread looks again at a locked bucket; counts them in `spins`.
  [[nodiscard]] std::uint32_t try_enter(std::uint32_t spins_max, std::uint32_t& spins) noexcept {
    for (;;) {
      const std::uint32_t seen = try_enter_once();
      if (seen != locked) return seen;
      do {
        if (spins++ >= spins_max) return locked;
        Atomics::pause();
        // [matching.look] relaxed: a hint; waiting threads read the line instead of taking it.
      } while (size.load(std::memory_order_relaxed) == locked);
    }
  }

  /// `is`: the `size` from now on.
  void leave(std::uint32_t is) noexcept {
    WEFT_ASSERT_CHECKED(is != locked);
    // [matching.leave] release -> [matching.enter]: the bucket, and the nodes that were put into it.
    size.store(is, std::memory_order_release);
  }

  // The functions that follow run under the lock.

  [[nodiscard]] position find(std::uint64_t print, const match_key& key) noexcept {
    for (unsigned slot = 0; slot < entry_count; ++slot) {
      node* const head = entries[slot].head.get();
      if (head == nullptr || (entries[slot].print.get() == print && head->has_key(key))) return {head, slot};
    }
    node* before = nullptr;
    for (node* head = spilled.get(); head != nullptr; before = head, head = head->next_key.get()) {
      if (head->has_key(key)) return {.head = head, .spilled_before = before};
    }
    return {};
  }

  /// Puts the key of `head`, which is not there, into entry `slot`; if that is `entry_count`, the key is spilled.
  [[gnu::always_inline]] void begin_key(unsigned slot, std::uint64_t print, node& head) noexcept {
    if (slot == entry_count) {
      head.next_key.set(spilled.get());
      spilled.set(&head);
    } else {
      entries[slot].print.set(print);
      entries[slot].head.set(&head);
    }
  }

  /// Ends the key of entry `slot`, and fills the gap with the last key of the bucket. No key is spilled.
  void end_key(unsigned slot) noexcept {
    WEFT_ASSERT_CHECKED(slot < entry_count && entries[slot].head.get() != nullptr);
    unsigned last = slot;
    while (last < entry_count - 1 && entries[last + 1].head.get() != nullptr) ++last;
    if (last != slot) {
      entries[slot].print.set(entries[last].print.get());
      entries[slot].head.set(entries[last].head.get());
    }
    entries[last].head.set(nullptr);
  }

  /// Ends the key at `entry`, while keys are spilled: one of them fills the gap.
  void end_key_by_spilled(const position& found) noexcept {
    if (found.slot == entry_count) return spill_link(found).set(found.head->next_key.get());
    node* const oldest = spilled.get();
    WEFT_ASSERT_CHECKED(oldest != nullptr);
    spilled.set(oldest->next_key.get());
    begin_key(found.slot, fingerprint(oldest->locked_key()), *oldest);
  }

  /// The link that leads to the spilled key at `found`.
  [[nodiscard]] guarded<node*, Atomics>& spill_link(const position& found) noexcept {
    WEFT_ASSERT_CHECKED(found.slot == entry_count && found.head != nullptr);
    return found.spilled_before != nullptr ? found.spilled_before->next_key : spilled;
  }

  /// Moves the keys whose fingerprints have `bit` into `target`, which is empty and locked as well. Younger nodes of a
  /// key stay as they are, however many there are.
  void split(basic_match_bucket& target, std::uint32_t bit) noexcept {
    unsigned kept = 0;
    unsigned moved = 0;
    const auto put = [&](std::uint64_t print, node& head) {
      const bool moves = (print & bit) != 0;
      unsigned& count = moves ? moved : kept;
      (moves ? target : *this).begin_key(count, print, head);
      if (count < entry_count) ++count;
    };
    for (entry& each : entries) {
      node* const head = each.head.get();
      if (head == nullptr) break;
      const std::uint64_t print = each.print.get();
      each.head.set(nullptr);
      put(print, *head);
    }
    node* each = spilled.get();
    spilled.set(nullptr);
    while (each != nullptr) {
      node* const next = each->next_key.get();
      put(fingerprint(each->locked_key()), *each);
      each = next;
    }
  }

  /// Calls `visit(node* head)` for each key.
  template <class Visit>
  void each_key(const Visit& visit) noexcept {
    for (entry& each : entries) {
      if (node* const head = each.head.get(); head != nullptr) visit(head);
    }
    for (node* head = spilled.get(); head != nullptr;) {
      node* const next = head->next_key.get();
      visit(head);
      head = next;
    }
  }
};
static_assert(sizeof(basic_match_bucket<detail::std_atomics>) == detail::cache_line_bytes);

}  // namespace weft::core
