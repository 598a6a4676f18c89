// A bucket of the matching table (matching_table.hpp): one cache line with a lock and three entries of a key each.
//
// Progress, linearization and reuse: as the table says. All zeros: unlocked and empty. Entries are used from the first
// on without gaps, and so are overflow buckets. Keys are spilled (chained through their nodes) only if all entries are
// taken.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/assertion.hpp"
#include "core/matching/match_node.hpp"
#include "weft/detail/atomics.hpp"

namespace weft::core {

template <class Atomics>
struct alignas(detail::cache_line_bytes) basic_match_bucket {
  using node = basic_match_node<Atomics>;
  static constexpr unsigned entry_count = 3;

  struct entry {
    guarded<std::uint64_t, Atomics> print;
    guarded<node*, Atomics> head;
  };

  // The position of a key. If the key is not there, `head` is null, and `part` and `slot` name the first free entry; if
  // none is free, `slot` is `entry_count`.
  struct position {
    node* head = nullptr;
    basic_match_bucket* part = nullptr;  // null: spilled
    unsigned slot = 0;
    node* spilled_before = nullptr;
  };

  typename Atomics::template atomic<std::uint32_t> lock;
  guarded<std::uint32_t, Atomics> next;  // index of an overflow bucket + 1
  guarded<node*, Atomics> spilled;
  entry entries[entry_count];

  [[nodiscard]] [[gnu::always_inline]] bool try_enter_once() noexcept {
    // [matching.enter] acquire <- [matching.leave]: the bucket and the nodes in it, as the last holder left them.
    return lock.exchange(1, std::memory_order_acquire) == 0;
  }

  /// `spins_max`: how often the thread looks again at a locked bucket before it answers false.
  [[nodiscard]] bool try_enter(std::uint32_t spins_max) noexcept {
    for (std::uint32_t spins = 0;;) {
      if (try_enter_once()) return true;
      do {
        if (spins++ == spins_max) return false;
        Atomics::pause();
        // [matching.look] relaxed: a hint; waiting threads read the line instead of taking it.
      } while (lock.load(std::memory_order_relaxed) != 0);
    }
  }

  void leave() noexcept {
    // [matching.leave] release -> [matching.enter]: the bucket, and the nodes that were put into it.
    lock.store(0, std::memory_order_release);
  }

  // The functions that follow run under the lock of the bucket whose keys they move: `lock` of an overflow bucket is
  // never taken.

  /// Moves a spilled key, if there is one, into the free entry `to` of this bucket or of one of its overflow buckets.
  bool move_spilled(entry& to) noexcept {
    node* const oldest = spilled.get();
    if (oldest == nullptr) return false;
    spilled.set(oldest->next_key.get());
    to.print.set(fingerprint(oldest->locked_key()));
    to.head.set(oldest);
    return true;
  }

  /// Ends the key of entry `slot`: fills the gap with the last key of the bucket.
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

  /// The link that leads to the spilled key at `at`.
  [[nodiscard]] guarded<node*, Atomics>& spill_link(const position& at) noexcept {
    WEFT_ASSERT_CHECKED(at.part == nullptr && at.head != nullptr);
    return at.spilled_before != nullptr ? at.spilled_before->next_key : spilled;
  }
};
static_assert(sizeof(basic_match_bucket<detail::std_atomics>) == detail::cache_line_bytes);

}  // namespace weft::core
