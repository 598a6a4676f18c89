// SPDX-License-Identifier: BSD-3-Clause
// The table in which sends and receives find each other (dang2016-millions-of-communicating-threads, 3.1).
//
// A bucket is one cache line: a lock, and three entries of a fingerprint and a pointer to the oldest node of a key. The
// full key is compared in the node. Younger nodes of the key are chained behind it, so there are as many entries as
// there are keys with waiting nodes. A fourth key of a bucket is chained through its node. When many buckets have
// such keys, the number of buckets doubles, by steps (match_buckets.hpp). Nothing fails.
//
// Cost: one exchange and one store, on the bucket's line; also the node of the same key, if there is one.
// Progress: a thread that finds a bucket locked looks a bounded number of times, then answers busy; it never waits.
// Who calls what: any thread may call any function; construction and destruction are alone. Only its owner inserts a
// node. Linearization: a call does everything under the bucket's lock. Order: nodes of one key and side are matched in
// the order in which they were inserted. Reuse: a node that `remove` names may have been matched and inserted
// elsewhere. Its `location` is the fingerprint by which its bucket is found, and changes only under the lock of that
// bucket, so a value read under that lock stays true. Model tests: tests/model/matching_table_test.cpp,
// tests/model/matching_growth_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/assertion.hpp"
#include "core/matching/match_bucket.hpp"
#include "core/matching/match_buckets.hpp"
#include "core/matching/match_node.hpp"
#include "weft/detail/atomics.hpp"

namespace weft::core {

/// How many nodes wait, without those in `unseen_buckets`, which other threads had locked.
struct match_counts {
  std::size_t sends = 0;
  std::size_t receives = 0;
  std::size_t spilled_keys = 0;  // a look at one of them visits more than a line
  std::size_t unseen_buckets = 0;
};

template <class Atomics = detail::std_atomics>
class basic_matching_table {
  using buckets = basic_match_buckets<Atomics>;
  using bucket = basic_match_bucket<Atomics>;
  using entered = typename buckets::entered;
  using position = typename bucket::position;

 public:
  using node = basic_match_node<Atomics>;

  /// The state in which `fast_insert` leaves an insertion to `insert_rest`: the bucket that it has locked, if any.
  class half_done {
   public:
    half_done() noexcept = default;

   private:
    friend class basic_matching_table;
    explicit half_done(const entered& inside) noexcept : inside_{inside} {}

    entered inside_;
  };

  static constexpr std::uint32_t default_spins_max = 32;
  static constexpr std::uint32_t bucket_count_max = std::uint32_t{1} << 24;

  /// Begins with `bucket_count` buckets and has at most `most`: powers of two, at most 2^30. `spins_max`: how often a
  /// thread looks again at a locked bucket before it answers busy. Throws std::bad_alloc.
  explicit basic_matching_table(std::uint32_t bucket_count, std::uint32_t most = bucket_count_max,
                                std::uint32_t spins_max = default_spins_max)
      : buckets_{bucket_count, most, spins_max} {}

  /// Takes out the oldest node of the other side with an equal key; if there is none, inserts `mine`.
  /// **Returns**: matched (`found` and `mine` belong to the caller), inserted or busy.
  [[nodiscard]] [[gnu::always_inline]] match_result insert(node& mine, node*& found) noexcept {
    bool is_behind = false;
    return insert(mine, found, is_behind);
  }
  /// Matches or inserts `mine`. If it was inserted, `is_behind` says whether another node of its key and side waited
  /// before it.
  [[nodiscard]] [[gnu::always_inline]] match_result insert(node& mine, node*& found, bool& is_behind) noexcept {
    const std::uint64_t print = fingerprint(mine.key);
    entered inside;
    if (!buckets_.try_enter(print, inside)) return match_result::busy;
    return insert_inside(inside, print, mine, found, is_behind);
  }

  /// Does so in two steps. The first one calls no function: it inserts `mine`, whose key is `key`, where that is
  /// simple. True: inserted, and `mine` may already have been matched and completed. False: the caller must call
  /// `insert_rest(rest, ...)` next.
  [[nodiscard]] [[gnu::always_inline]] bool fast_insert(node& mine, const match_key& key, half_done& rest) noexcept {
    const std::uint64_t print = fingerprint(key);
    entered inside;
    // If the bucket is locked, or has to be split, the second step does that.
    if (!buckets_.try_enter_once(print, inside)) [[unlikely]] {
      rest = half_done{};
      return false;
    }
    for (unsigned slot = 0; slot < bucket::entry_count; ++slot) {
      node* const head = inside.home->entries[slot].head.get();
      if (head == nullptr) {
        begin_key(*inside.home, slot, print, mine);
      } else if (inside.home->entries[slot].print.get() != print || !head->has_key(key)) {
        continue;
      } else if (head->locked_side() == mine.side) {
        append(print, *head, mine);
      } else {
        break;
      }
      inside.leave();
      return true;
    }
    rest = half_done{inside};
    return false;
  }
  [[nodiscard]] [[gnu::always_inline]] match_result insert_rest(half_done rest, node& mine, node*& found) noexcept {
    bool is_behind = false;
    if (rest.inside_.home == nullptr) return insert(mine, found);
    return insert_inside(rest.inside_, fingerprint(mine.key), mine, found, is_behind);
  }

  /// Takes out the oldest node of `side` with key `key`.
  /// **Returns**: matched (`found` belongs to the caller), none or busy.
  [[nodiscard]] [[gnu::always_inline]] match_result take(const match_key& key, match_side side, node*& found) noexcept {
    const std::uint64_t print = fingerprint(key);
    entered inside;
    if (!buckets_.try_enter(print, inside)) return match_result::busy;
    const position entry = inside.home->find(print, key);
    const bool there = entry.head != nullptr && entry.head->locked_side() == side;
    if (there) {
      found = entry.head;
      take_out(*inside.home, entry, *entry.head);
    }
    inside.leave();
    return there ? match_result::matched : match_result::none;
  }

  /// Calls `visit(const node&)`, under the lock, with the oldest node of `side` with key `key`, which stays.
  /// **Returns**: matched (it was called), none or busy.
  template <class Visit>
  [[nodiscard]] match_result peek(const match_key& key, match_side side, const Visit& visit) noexcept {
    const std::uint64_t print = fingerprint(key);
    entered inside;
    if (!buckets_.try_enter(print, inside)) return match_result::busy;
    const position entry = inside.home->find(print, key);
    const bool there = entry.head != nullptr && entry.head->locked_side() == side;
    if (there) visit(static_cast<const node&>(*entry.head));
    inside.leave();
    return there ? match_result::matched : match_result::none;
  }

  /// Takes out the oldest node of `side` with key `key` for which `is_meant(const node&)`, called under the lock, is
  /// true. **Returns**: as `take`. Cost: a look at each older node of the key.
  template <class IsMeant>
  [[nodiscard]] match_result take_meant(const match_key& key, match_side side, IsMeant&& is_meant,
                                        node*& found) noexcept {
    const std::uint64_t print = fingerprint(key);
    entered inside;
    if (!buckets_.try_enter(print, inside)) return match_result::busy;
    const position entry = inside.home->find(print, key);
    node* each = entry.head != nullptr && entry.head->locked_side() == side ? entry.head : nullptr;
    while (each != nullptr && !is_meant(*each)) each = each->behind.get();
    if (each != nullptr) {
      found = each;
      take_out(*inside.home, entry, *each);
    }
    inside.leave();
    return each != nullptr ? match_result::matched : match_result::none;
  }

  /// Takes `which` out, at any position among the nodes of its key. It may have been matched, completed and inserted
  /// again for another purpose: `is_meant(node&)`, called under the lock while the node waits, says whether the caller
  /// means it.
  /// **Returns**: removed (`which` belongs to the caller), none (it was matched, or never waited) or busy.
  template <class IsMeant>
  [[nodiscard]] match_result remove(node& which, IsMeant&& is_meant) noexcept {
    // [matching.where] relaxed: checked again under the lock.
    const std::uint32_t location = which.location.load(std::memory_order_relaxed);
    if (location / location_mark != 1) return match_result::none;
    entered inside;
    if (!buckets_.try_enter(location, inside)) return match_result::busy;
    // [matching.still] relaxed <- [matching.arrived], [matching.gone]: only a thread with this lock stores this value
    // or replaces it.
    const bool there = which.location.load(std::memory_order_relaxed) == location && is_meant(which);
    if (there) {
      const match_key key = which.locked_key();
      take_out(*inside.home, inside.home->find(fingerprint(key), key), which);
    }
    inside.leave();
    return there ? match_result::removed : match_result::none;
  }
  [[nodiscard]] match_result remove(node& which) noexcept {
    return remove(which, [](const node&) { return true; });
  }

  /// Takes out every node for which `is_meant(const node&)`, called under its bucket's lock, is true, for an engine or
  /// a table that ends. Puts them in front of `out`, chained by `behind`, in no order. Returns how many buckets were
  /// left out because other threads had locked them: call it again. Visits all buckets.
  template <class IsMeant>
  [[nodiscard]] std::size_t extract(IsMeant&& is_meant, node*& out) noexcept {
    return buckets_.each([&](bucket& home) {
      while (node* found = find_meant(home, is_meant)) {
        const match_key key = found->locked_key();
        take_out(home, home.find(fingerprint(key), key), *found);
        found->behind.set(out);
        out = found;
      }
    });
  }

  /// Calls `visit(const node&)` for every node that waits, under its bucket's lock; returns how many buckets were left
  /// out because other threads had locked them. A node may be visited twice while the table grows. For reports: visits
  /// all buckets.
  template <class Visit>
  std::size_t for_each(Visit&& visit) noexcept {
    return buckets_.each([&](bucket& home) {
      home.each_key([&](const node* head) {
        for (const node* each = head; each != nullptr; each = each->behind.get()) visit(*each);
      });
    });
  }

  [[nodiscard]] match_counts count() noexcept {
    match_counts out;
    const auto count_node = [&](const node& each) {
      ++(each.locked_side() == match_side::send ? out.sends : out.receives);
    };
    out.unseen_buckets = for_each(count_node);
    buckets_.each([&](bucket& home) {
      for (node* each = home.spilled.get(); each != nullptr; each = each->next_key.get()) ++out.spilled_keys;
    });
    return out;
  }

  [[nodiscard]] std::uint32_t bucket_count() const noexcept { return buckets_.count(); }

 private:
  // Marks the `location` of a node that waits here; an ordered engine's number has another mark.
  static constexpr std::uint32_t location_mark = 0x4000'0000;
  static_assert(buckets::count_max <= location_mark);

  // The functions that follow run under the lock of `home`.

  // The rest of `insert`; releases the lock.
  [[nodiscard]] [[gnu::always_inline]] match_result insert_inside(const entered& inside, std::uint64_t print,
                                                                  node& mine, node*& found, bool& is_behind) noexcept {
    const position entry = inside.home->find(print, mine.key);
    match_result out = match_result::inserted;
    is_behind = false;
    if (entry.head == nullptr && entry.slot == bucket::entry_count) [[unlikely]] {
      begin_spilled(inside, print, mine);
      return out;
    }
    if (entry.head == nullptr) {
      begin_key(*inside.home, entry.slot, print, mine);
    } else if (entry.head->locked_side() == mine.side) {
      append(print, *entry.head, mine);
      is_behind = true;
    } else {
      found = entry.head;
      take_out(*inside.home, entry, *entry.head);
      out = match_result::matched;
    }
    inside.leave();
    return out;
  }

  void arrive(std::uint64_t print, node& mine) noexcept {
    if constexpr (std::is_same_v<Atomics, detail::std_atomics>) {               // a model would explore the load, too
      WEFT_ASSERT_CHECKED(mine.location.load(std::memory_order_relaxed) == 0);  // [own] it waits nowhere
    }
    const std::uint32_t location = (static_cast<std::uint32_t>(print) & (location_mark - 1)) | location_mark;
    // [matching.arrived] relaxed -> [matching.still]: under the lock.
    mine.location.store(location, std::memory_order_relaxed);
  }

  [[gnu::always_inline]] void begin_key(bucket& home, unsigned slot, std::uint64_t print, node& mine) noexcept {
    arrive(print, mine);
    mine.behind.set(nullptr);
    mine.before.set(&mine);
    home.begin_key(slot, print, mine);
  }

  // Inserts a key for which no entry is free; releases the lock.
  [[gnu::noinline]] void begin_spilled(const entered& inside, std::uint64_t print, node& mine) noexcept {
    const bool is_first = inside.home->spilled.get() == nullptr;
    begin_key(*inside.home, bucket::entry_count, print, mine);
    if (is_first) buckets_.spills(true);
    inside.leave();
    buckets_.grow();
  }

  void append(std::uint64_t print, node& head, node& mine) noexcept {
    arrive(print, mine);
    node* youngest = head.before.get();
    mine.behind.set(nullptr);
    mine.before.set(youngest);
    youngest->behind.set(&mine);
    head.before.set(&mine);
  }

  // `which` is `entry.head` or behind it. Mostly it is the oldest of its key, in a bucket without spilled keys.
  [[gnu::always_inline]] void take_out(bucket& home, const position& entry, node& which) noexcept {
    node* const behind = which.behind.get();
    if (&which != entry.head || entry.slot == bucket::entry_count) [[unlikely]] {
      take_out_of_chain(home, entry, which);
    } else if (behind != nullptr) {
      behind->before.set(which.before.get());
      home.entries[entry.slot].head.set(behind);
    } else if (home.spilled.get() == nullptr) [[likely]] {
      home.end_key(entry.slot);
    } else {
      end_key_by_spilled(home, entry);
    }
    // [matching.gone] relaxed -> [matching.still]: under the lock.
    which.location.store(0, std::memory_order_relaxed);
  }

  [[gnu::noinline]] void take_out_of_chain(bucket& home, const position& entry, node& which) noexcept {
    node* behind = which.behind.get();
    node* before = which.before.get();
    if (&which != entry.head) {
      before->behind.set(behind);
      (behind != nullptr ? behind : entry.head)->before.set(before);
    } else if (behind == nullptr) {
      end_key_by_spilled(home, entry);
    } else {
      behind->before.set(before);
      behind->next_key.set(which.next_key.get());
      home.spill_link(entry).set(behind);
    }
  }

  [[gnu::noinline]] void end_key_by_spilled(bucket& home, const position& entry) noexcept {
    home.end_key_by_spilled(entry);
    if (home.spilled.get() == nullptr) buckets_.spills(false);
  }

  template <class IsMeant>
  static node* find_meant(bucket& home, IsMeant& is_meant) noexcept {
    node* found = nullptr;
    home.each_key([&](node* head) {
      for (node* each = head; each != nullptr && found == nullptr; each = each->behind.get()) {
        if (is_meant(*each)) found = each;
      }
    });
    return found;
  }

  buckets buckets_;
};

using matching_table = basic_matching_table<>;

}  // namespace weft::core
