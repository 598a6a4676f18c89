// The table in which sends and receives find each other (dang2016-millions-of-communicating-threads, 3.1).
//
// A bucket is one cache line: a lock, and three entries of a fingerprint and a pointer to the oldest node of a key. The
// full key is compared in the node. Younger nodes of the key are chained behind it, so there are as many entries as
// there are keys with waiting nodes. A fourth key of a bucket goes to an overflow bucket out of a fixed set; when
// there is none left, keys are chained through their nodes. Nothing is allocated after construction and nothing fails.
//
// Cost: one exchange and one store, on the bucket's line; also the node of the same key, if there is one.
// Progress: a thread that finds a bucket locked looks a bounded number of times, then answers busy; it never waits.
// Who calls what: any thread may call any function; construction and destruction are alone. Only its owner inserts a
// node. Linearization: a call does everything under the bucket's lock. Order: nodes of one key and side are matched in
// the order in which they were inserted. Reuse: a node that `remove` names may have been matched and inserted
// elsewhere. Its `location` changes only under the lock of the bucket that it names, so a value read under that lock
// stays true. Model test: tests/model/matching_table_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "base/assertion.hpp"
#include "core/matching/match_bucket.hpp"
#include "core/matching/match_node.hpp"
#include "core/memory/index_stack.hpp"
#include "weft/detail/atomics.hpp"
#include "weft/detail/atomics_support.hpp"

namespace weft::core {

/// How many nodes wait, without those in `unseen_buckets`, which other threads had locked.
struct match_counts {
  std::size_t sends = 0;
  std::size_t receives = 0;
  std::size_t overflow_buckets = 0;
  std::size_t unseen_buckets = 0;
};

template <class Atomics = detail::std_atomics>
class basic_matching_table {
  using bucket = basic_match_bucket<Atomics>;
  using entry = typename bucket::entry;
  using position = typename bucket::position;

 public:
  using node = basic_match_node<Atomics>;

  /// The state in which `fast_insert` leaves an insertion to `insert_rest`: the bucket that it has locked, if any.
  class half_done {
   public:
    half_done() noexcept = default;

   private:
    friend class basic_matching_table;
    explicit half_done(bucket* entered) noexcept : entered_{entered} {}

    bucket* entered_ = nullptr;
  };

  static constexpr std::uint32_t default_spins_max = 32;

  /// `bucket_count`: a power of two, at most 2^30. Throws std::bad_alloc.
  explicit basic_matching_table(std::uint32_t bucket_count)
      : basic_matching_table(bucket_count, bucket_count / 8 + 1, default_spins_max) {}

  /// `spins_max`: how often a thread looks again at a locked bucket before it answers busy.
  basic_matching_table(std::uint32_t bucket_count, std::uint32_t overflow_count, std::uint32_t spins_max)
      : free_overflow_{overflow_count},
        mask_{bucket_count - 1},
        spins_max_{spins_max},
        bytes_{(std::size_t{bucket_count} + overflow_count) * sizeof(bucket)},
        buckets_{static_cast<bucket*>(support::allocate_zeroed(bytes_))} {
    if (buckets_ == nullptr) throw std::bad_alloc();
    for (std::uint32_t index = overflow_count; index > 0; --index) free_overflow_.push(index - 1);
  }
  basic_matching_table(const basic_matching_table&) = delete;
  basic_matching_table& operator=(const basic_matching_table&) = delete;
  ~basic_matching_table() { support::release_zeroed(buckets_, bytes_); }

  /// Takes out the oldest node of the other side with an equal key; if there is none, inserts `mine`.
  /// **Returns**: matched (`found` and `mine` belong to the caller), inserted or busy.
  [[nodiscard]] [[gnu::always_inline]] match_result insert(node& mine, node*& found) noexcept {
    bool is_behind = false;
    return insert(mine, found, is_behind);
  }
  /// The same. If `mine` was inserted, `is_behind` says whether another node of its key and side waited before it.
  [[nodiscard]] [[gnu::always_inline]] match_result insert(node& mine, node*& found, bool& is_behind) noexcept {
    const std::uint64_t print = fingerprint(mine.key);
    bucket& home = home_of(print);
    if (!home.try_enter(spins_max_)) return match_result::busy;
    return insert_inside(home, print, mine, found, is_behind);
  }

  /// The same in two steps, of which the first one calls no function. It inserts `mine`, whose key is `key`, if that is
  /// simple. True: inserted, and `mine` may already have been matched and completed. False: the caller must call
  /// `insert_rest(rest, ...)` next.
  [[nodiscard]] [[gnu::always_inline]] bool fast_insert(node& mine, const match_key& key, half_done& rest) noexcept {
    const std::uint64_t print = fingerprint(key);
    bucket& home = home_of(print);
    // If the bucket is locked, the thread spins in the second step.
    if (!home.try_enter_once()) [[unlikely]] {
      rest = half_done{nullptr};
      return false;
    }
    for (unsigned slot = 0; slot < bucket::entry_count; ++slot) {
      node* const head = home.entries[slot].head.get();
      if (head == nullptr) {
        begin_key_at(home, {.part = &home, .slot = slot}, print, mine);
      } else if (home.entries[slot].print.get() != print || !head->has_key(key)) {
        continue;
      } else if (head->locked_side() == mine.side) {
        append(home, *head, mine);
      } else {
        break;
      }
      home.leave();
      return true;
    }
    rest = half_done{&home};
    return false;
  }
  [[nodiscard]] [[gnu::always_inline]] match_result insert_rest(half_done rest, node& mine, node*& found) noexcept {
    bool is_behind = false;
    if (rest.entered_ == nullptr) return insert(mine, found);
    return insert_inside(*rest.entered_, fingerprint(mine.key), mine, found, is_behind);
  }

  /// Takes out the oldest node of `side` with key `key`.
  /// **Returns**: matched (`found` belongs to the caller), none or busy.
  [[nodiscard]] [[gnu::always_inline]] match_result take(const match_key& key, match_side side, node*& found) noexcept {
    const std::uint64_t print = fingerprint(key);
    bucket& home = home_of(print);
    if (!home.try_enter(spins_max_)) return match_result::busy;
    const position at = find(home, print, key);
    const bool there = at.head != nullptr && at.head->locked_side() == side;
    if (there) {
      found = at.head;
      take_out(home, at, *at.head);
    }
    home.leave();
    return there ? match_result::matched : match_result::none;
  }

  /// Calls `visit(const node&)`, under the lock, with the oldest node of `side` with key `key`, which stays.
  /// **Returns**: matched (it was called), none or busy.
  template <class Visit>
  [[nodiscard]] match_result peek(const match_key& key, match_side side, const Visit& visit) noexcept {
    const std::uint64_t print = fingerprint(key);
    bucket& home = home_of(print);
    if (!home.try_enter(spins_max_)) return match_result::busy;
    const position at = find(home, print, key);
    const bool there = at.head != nullptr && at.head->locked_side() == side;
    if (there) visit(static_cast<const node&>(*at.head));
    home.leave();
    return there ? match_result::matched : match_result::none;
  }

  /// Takes out the oldest node of `side` with key `key` for which `is_meant(const node&)`, called under the lock, is
  /// true. **Returns**: as `take`.
  template <class IsMeant>
  [[nodiscard]] match_result take_meant(const match_key& key, match_side side, IsMeant&& is_meant,
                                        node*& found) noexcept {
    const std::uint64_t print = fingerprint(key);
    bucket& home = home_of(print);
    if (!home.try_enter(spins_max_)) return match_result::busy;
    const position at = find(home, print, key);
    node* each = at.head != nullptr && at.head->locked_side() == side ? at.head : nullptr;
    while (each != nullptr && !is_meant(*each)) each = each->behind.get();
    if (each != nullptr) {
      found = each;
      take_out(home, at, *each);
    }
    home.leave();
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
    if (location == 0 || location - 1 > mask_) return match_result::none;
    bucket& home = buckets_[location - 1];
    if (!home.try_enter(spins_max_)) return match_result::busy;
    // [matching.still] relaxed <- [matching.arrived], [matching.gone]: only a thread with this lock stores this value
    // or replaces it.
    const bool there = which.location.load(std::memory_order_relaxed) == location && is_meant(which);
    if (there) {
      const match_key key = which.locked_key();
      take_out(home, find(home, fingerprint(key), key), which);
    }
    home.leave();
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
    return for_each_bucket([&](bucket& home) {
      while (node* found = find_meant(home, is_meant)) {
        const match_key key = found->locked_key();
        take_out(home, find(home, fingerprint(key), key), *found);
        found->behind.set(out);
        out = found;
      }
    });
  }

  /// Calls `visit(const node&)` for every node that waits, under its bucket's lock; returns how many buckets were left
  /// out because other threads had locked them. For reports: visits all buckets.
  template <class Visit>
  std::size_t for_each(Visit&& visit) noexcept {
    return for_each_bucket([&](bucket& home) {
      for (bucket* part = &home; part != nullptr; part = following(*part)) {
        for (const entry& each : part->entries) visit_key(each.head.get(), visit);
      }
      for (const node* head = home.spilled.get(); head != nullptr; head = head->next_key.get()) visit_key(head, visit);
    });
  }

  [[nodiscard]] match_counts count() noexcept {
    match_counts out;
    const auto count_node = [&](const node& each) {
      ++(each.locked_side() == match_side::send ? out.sends : out.receives);
    };
    out.unseen_buckets = for_each(count_node);
    for_each_bucket([&](bucket& home) {
      for (bucket* part = following(home); part != nullptr; part = following(*part)) ++out.overflow_buckets;
    });
    return out;
  }

  [[nodiscard]] std::uint32_t bucket_count() const noexcept { return mask_ + 1; }

 private:
  using support = detail::atomics_support<Atomics>;
  static_assert(sizeof(bucket) == detail::cache_line_bytes && sizeof(entry) == 16);

  bucket& home_of(std::uint64_t print) noexcept { return buckets_[print & mask_]; }
  bucket* following(const bucket& part) noexcept {
    const std::uint32_t next = part.next.get();
    return next == 0 ? nullptr : &buckets_[std::size_t{mask_} + next];
  }
  std::uint32_t location_of(const bucket& home) const noexcept {
    return static_cast<std::uint32_t>(&home - buckets_) + 1;
  }

  // The functions that follow run under the lock of `home`.

  // The rest of `insert`; releases the lock.
  [[nodiscard]] [[gnu::always_inline]] match_result insert_inside(bucket& home, std::uint64_t print, node& mine,
                                                                  node*& found, bool& is_behind) noexcept {
    const position at = find(home, print, mine.key);
    match_result out = match_result::inserted;
    is_behind = false;
    if (at.head == nullptr) {
      begin_key(home, at, print, mine);
    } else if (at.head->locked_side() == mine.side) {
      append(home, *at.head, mine);
      is_behind = true;
    } else {
      found = at.head;
      take_out(home, at, *at.head);
      out = match_result::matched;
    }
    home.leave();
    return out;
  }

  position find(bucket& home, std::uint64_t print, const match_key& key) noexcept {
    position at;
    for (bucket* part = &home; part != nullptr; part = following(*part)) {
      at.part = part;
      for (at.slot = 0; at.slot < bucket::entry_count; ++at.slot) {
        const entry& seen = part->entries[at.slot];
        node* head = seen.head.get();
        if (head == nullptr) return at;
        if (seen.print.get() != print || !head->has_key(key)) continue;
        at.head = head;
        return at;
      }
    }
    node* before = nullptr;
    for (node* head = home.spilled.get(); head != nullptr; before = head, head = head->next_key.get()) {
      if (head->has_key(key)) return {.head = head, .spilled_before = before};
    }
    return at;
  }

  void arrive(bucket& home, node& mine) noexcept {
    if constexpr (std::is_same_v<Atomics, detail::std_atomics>) {               // a model would explore the load, too
      WEFT_ASSERT_CHECKED(mine.location.load(std::memory_order_relaxed) == 0);  // [own] it waits nowhere
    }
    // [matching.arrived] relaxed -> [matching.still]: under the lock.
    mine.location.store(location_of(home), std::memory_order_relaxed);
  }

  void begin_key(bucket& home, position at, std::uint64_t print, node& mine) noexcept {
    if (at.slot == bucket::entry_count) at = add_overflow(home, *at.part);
    begin_key_at(home, at, print, mine);
  }
  [[gnu::always_inline]] void begin_key_at(bucket& home, const position& at, std::uint64_t print, node& mine) noexcept {
    arrive(home, mine);
    mine.behind.set(nullptr);
    mine.before.set(&mine);
    if (at.slot == bucket::entry_count) {
      mine.next_key.set(home.spilled.get());
      home.spilled.set(&mine);
    } else {
      at.part->entries[at.slot].print.set(print);
      at.part->entries[at.slot].head.set(&mine);
    }
  }

  // Adds an overflow bucket behind `last`, and moves spilled keys into it. Returns its first free entry; if there is no
  // bucket, `slot` is `entry_count`.
  [[gnu::noinline]] position add_overflow(bucket& home, bucket& last) noexcept {
    const std::uint32_t index = free_overflow_.pop();
    if (index == basic_index_stack<Atomics>::none) return {.slot = bucket::entry_count};
    last.next.set(index + 1);
    position at{.part = following(last)};
    while (at.slot < bucket::entry_count && home.move_spilled(at.part->entries[at.slot])) ++at.slot;
    return at;
  }

  void append(bucket& home, node& head, node& mine) noexcept {
    arrive(home, mine);
    node* youngest = head.before.get();
    mine.behind.set(nullptr);
    mine.before.set(youngest);
    youngest->behind.set(&mine);
    head.before.set(&mine);
  }

  // `which` is `at.head` or behind it. Mostly it is the oldest of its key, in a bucket without overflow buckets.
  [[gnu::always_inline]] void take_out(bucket& home, const position& at, node& which) noexcept {
    node* const behind = which.behind.get();
    if (&which != at.head || at.part == nullptr) [[unlikely]] {
      take_out_of_chain(home, at, which);
    } else if (behind != nullptr) {
      behind->before.set(which.before.get());
      at.part->entries[at.slot].head.set(behind);
    } else if (home.next.get() == 0 && home.spilled.get() == nullptr) [[likely]] {
      home.end_key(at.slot);
    } else {
      end_key(home, at);
    }
    // [matching.gone] relaxed -> [matching.still]: under the lock.
    which.location.store(0, std::memory_order_relaxed);
  }

  [[gnu::noinline]] void take_out_of_chain(bucket& home, const position& at, node& which) noexcept {
    node* behind = which.behind.get();
    node* before = which.before.get();
    if (&which != at.head) {
      before->behind.set(behind);
      (behind != nullptr ? behind : at.head)->before.set(before);
    } else if (behind == nullptr) {
      end_key(home, at);
    } else {
      behind->before.set(before);
      behind->next_key.set(which.next_key.get());
      home.spill_link(at).set(behind);
    }
  }

  // Fills the gap with a spilled key, or with the last key of the last overflow bucket, which is given back if empty.
  [[gnu::noinline]] void end_key(bucket& home, const position& at) noexcept {
    if (at.part == nullptr) {
      home.spill_link(at).set(at.head->next_key.get());
      return;
    }
    entry& gap = at.part->entries[at.slot];
    if (home.move_spilled(gap)) return;
    bucket* previous = nullptr;
    bucket* last = at.part;
    while (bucket* next = following(*last)) {
      previous = last;
      last = next;
    }
    unsigned slot = at.part == last ? at.slot : 0;
    while (slot < bucket::entry_count - 1 && last->entries[slot + 1].head.get() != nullptr) ++slot;
    gap.print.set(last->entries[slot].print.get());
    gap.head.set(last->entries[slot].head.get());
    last->entries[slot].head.set(nullptr);
    if (slot == 0 && last != &home) give_back(home, previous, *last);
  }

  void give_back(bucket& home, bucket* previous, bucket& empty) noexcept {
    if (previous == nullptr) {
      // The gap was in the last bucket itself: look for the bucket before it from the start.
      previous = &home;
      while (following(*previous) != &empty) previous = following(*previous);
    }
    const std::uint32_t index = previous->next.get() - 1;
    previous->next.set(0);
    free_overflow_.push(index);
  }

  template <class Visit>
  std::size_t for_each_bucket(Visit&& visit) noexcept {
    std::size_t unseen = 0;
    for (std::uint32_t i = 0; i <= mask_; ++i) {
      bucket& home = buckets_[i];
      if (!home.try_enter(spins_max_)) {
        ++unseen;
        continue;
      }
      visit(home);
      home.leave();
    }
    return unseen;
  }

  template <class IsMeant>
  node* find_meant(bucket& home, IsMeant& is_meant) noexcept {
    const auto in_key = [&](node* each) {
      while (each != nullptr && !is_meant(*each)) each = each->behind.get();
      return each;
    };
    for (bucket* part = &home; part != nullptr; part = following(*part)) {
      for (const entry& each : part->entries) {
        if (node* found = in_key(each.head.get())) return found;
      }
    }
    for (node* head = home.spilled.get(); head != nullptr; head = head->next_key.get()) {
      if (node* found = in_key(head)) return found;
    }
    return nullptr;
  }

  template <class Visit>
  static void visit_key(const node* head, Visit& visit) noexcept {
    for (const node* each = head; each != nullptr; each = each->behind.get()) visit(*each);
  }

  basic_index_stack<Atomics> free_overflow_;
  std::uint32_t mask_;
  std::uint32_t spins_max_;
  std::size_t bytes_;
  bucket* buckets_;  // behind the first `mask_ + 1` the overflow buckets
};

using matching_table = basic_matching_table<>;

}  // namespace weft::core
