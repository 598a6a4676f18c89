// SPDX-License-Identifier: BSD-3-Clause
// From 32-bit ids that the user gives to objects: the names by which peers call completions and matching engines.
//
// Who: any thread may call any member at any time; construction and destruction are alone.
//
// Progress: find and look_up are wait-free for an id that is in the table: one probe where ids are small and dense, a
// few otherwise; insert and withdraw take a lock, and so does look_up for an id that is not in the table.
//
// An id is used once: a withdrawn id stays known, so that a message for it can be told from one that came before its
// registration. It leaves a tombstone in the table. If there are more tombstones than ids, `compact` moves them to a
// set of intervals. Consecutive ids share one interval; other ids cost a node of a map each. A table may have a bound
// for intervals: it knows the newest ones, at least so many, and forgets older ones, whose ids are unknown then.
//
// Linearization: at the store of the entry's key, and at its load; of an id that is not found, inside the lock. A
// reader that holds an older table while the newest is written reads what was true when it loaded the table. Old tables
// are kept, because a reader may still be in one, until `compact` returns them; as tables double, they are together as
// large as the newest. The caller must make sure that no thread reads a table that it releases, and that an object
// found here, which may be withdrawn at the next moment, lives while it is used. Model test:
// tests/model/table_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "weft/detail/atomics.hpp"
#include "weft/detail/atomics_support.hpp"

namespace weft::base {

enum class presence : std::uint8_t { unknown, present, withdrawn };

/// What a table knows about an id; `object` is null unless it is present.
struct id_entry {
  presence state;
  void* object;
};

template <class Atomics = detail::std_atomics>
class id_table {
  struct table;
  struct releaser {
    void operator()(table* newest) const noexcept {
      while (newest != nullptr) {
        table* const older = newest->older;
        support::release_zeroed(newest, bytes_of(newest->mask + 1));
        newest = older;
      }
    }
  };

 public:
  /// Tables that are out of use; to be destroyed once no thread reads them any more.
  using outdated = std::unique_ptr<table, releaser>;

  /// Room for `capacity` ids before the first growth; nothing is allocated before the first insertion. `compact` does
  /// nothing below `tombstones_min`. The table remembers from `intervals_max` to twice as many intervals of withdrawn
  /// ids.
  explicit id_table(std::size_t capacity = 32, std::size_t tombstones_min = 32,
                    std::size_t intervals_max = std::numeric_limits<std::size_t>::max()) noexcept
      : tombstones_min_{tombstones_min}, intervals_max_{intervals_max} {
    while (first_slots_ < 2 * capacity) first_slots_ *= 2;
  }
  id_table(const id_table&) = delete;
  id_table& operator=(const id_table&) = delete;
  ~id_table() {
    // [id_table.destruct] relaxed <- [id_table.grow]: alone.
    releaser{}(newest_.load(std::memory_order_relaxed));
  }

  /// The object of `id`; nullptr if the id is unknown or withdrawn.
  [[nodiscard]] void* find(std::uint32_t id) const noexcept { return look_up(id).object; }

  [[nodiscard]] presence state(std::uint32_t id) const noexcept { return look_up(id).state; }

  [[nodiscard]] id_entry look_up(std::uint32_t id) const noexcept {
    const id_entry found = search_newest(id);
    if (found.state == presence::unknown) [[unlikely]]
      return look_up_slow(id);
    return found;
  }

  /// The object of `id` if the first probe finds it, as it does for small dense ids; nullptr: call `look_up`.
  [[nodiscard]] void* try_find(std::uint32_t id) const noexcept {
    // [id_table.current] acquire <- [id_table.grow]: the entries were copied into it.
    table* current = newest_.load(std::memory_order_acquire);
    if (current == nullptr) return nullptr;
    entry& seen = current->entries()[index_of(id, 0, current->mask)];
    // [id_table.probe] acquire <- [id_table.publish], [id_table.withdraw]: the object is visible.
    if (seen.key.load(std::memory_order_acquire) != (present_mark << 32 | id)) return nullptr;
    // [id_table.object] relaxed <- [id_table.fill]: written once, before the key.
    void* const object = seen.object.load(std::memory_order_relaxed);
    if (object == nullptr) __builtin_unreachable();  // so that callers test only once
    return object;
  }

  /// The object of `id`, in as many probes as that takes, without the lock; nullptr: call `look_up`.
  [[nodiscard]] void* try_find_all(std::uint32_t id) const noexcept { return search_newest(id).object; }

  /// False: the id is present or was withdrawn. Throws std::bad_alloc.
  [[nodiscard]] bool insert(std::uint32_t id, void* object) {
    const std::lock_guard<mutex> lock(mutex_);
    if (look_up_locked(id).state != presence::unknown) return false;
    table& target = with_room_for_one_more();
    fill(target, id, present_mark, object);
    ++used_;
    return true;
  }

  /// False: the id is not present.
  bool withdraw(std::uint32_t id) noexcept {
    const std::lock_guard<mutex> lock(mutex_);
    if (look_up_locked(id).state != presence::present) return false;
    // [id_table.newest] relaxed <- [id_table.grow]: under the lock.
    table* current = newest_.load(std::memory_order_relaxed);
    for (std::uint32_t probe = 0;; ++probe) {
      entry& seen = current->entries()[index_of(id, probe, current->mask)];
      // [id_table.mine] relaxed <- [id_table.publish]: under the lock.
      if (static_cast<std::uint32_t>(seen.key.load(std::memory_order_relaxed)) != id) continue;
      // [id_table.withdraw] release -> [id_table.probe], [id_table.copy]: what was done before is visible to a thread
      // that finds the id withdrawn.
      seen.key.store(withdrawn_mark << 32 | id, std::memory_order_release);
      ++tombstones_;
      return true;
    }
  }

  /// Must be called after `withdraw`: if there are more tombstones than ids, later calls use a new table without them.
  /// Returns the old table, to be destroyed once every thread that was inside a call has left it. Mostly null; also if
  /// memory is short: then the tombstones stay.
  [[nodiscard]] outdated compact() noexcept {
    const std::lock_guard<mutex> lock(mutex_);
    const std::size_t present = used_ - tombstones_;
    if (tombstones_ < tombstones_min_ || tombstones_ <= present) return nullptr;
    // [id_table.newest] relaxed <- [id_table.grow]: under the lock.
    table* const old = newest_.load(std::memory_order_relaxed);
    if (!note_withdrawn(*old)) return nullptr;
    std::size_t slots = first_slots_;
    while (slots < 4 * (present + 1)) slots *= 2;
    table* const smaller = make_table(slots, nullptr);
    if (smaller == nullptr) return nullptr;
    copy(*old, *smaller, false);
    used_ = present;
    tombstones_ = 0;
    publish(*smaller);
    return outdated{old};
  }

  /// Roughly the memory in use.
  [[nodiscard]] std::size_t bytes() const {
    const std::lock_guard<mutex> lock(mutex_);
    constexpr std::size_t node_bytes = 48;
    std::size_t out = node_bytes * (withdrawn_.size() + older_withdrawn_.size());
    // [id_table.newest] relaxed <- [id_table.grow]: under the lock.
    for (table* each = newest_.load(std::memory_order_relaxed); each != nullptr; each = each->older) {
      out += bytes_of(each->mask + 1);
    }
    return out;
  }

 private:
  using support = detail::atomics_support<Atomics>;
  using mutex = typename support::mutex;

  // All zeros: free. The key is the id and a mark, so that every id, also zero, differs from a free entry.
  struct entry {
    typename Atomics::template atomic<std::uint64_t> key;
    typename Atomics::template atomic<void*> object;
  };
  static_assert(sizeof(entry) == 16, "zeroed memory is used as atomics");
  static constexpr std::uint64_t present_mark = 1;
  static constexpr std::uint64_t withdrawn_mark = 2;

  struct alignas(16) table {
    std::size_t mask;
    table* older;
    entry* entries() noexcept { return reinterpret_cast<entry*>(this + 1); }
  };
  static_assert(sizeof(table) == 16, "entries follow");

  static std::size_t bytes_of(std::size_t slots) noexcept { return sizeof(table) + slots * sizeof(entry); }

  // A small dense id is its own index. An id that collides there goes on from a scattered index, so that ids in regular
  // steps don't pile up.
  static std::size_t index_of(std::uint32_t id, std::uint32_t probe, std::size_t mask) noexcept {
    if (probe == 0) return id & mask;
    const std::uint64_t scattered = (id + std::uint64_t{1}) * 0x9e3779b97f4a7c15u >> 32;
    return (scattered + probe) & mask;
  }

  // Unknown: not in this table.
  static id_entry search(table& searched, std::uint32_t id) noexcept {
    for (std::uint32_t probe = 0;; ++probe) {
      entry& seen = searched.entries()[index_of(id, probe, searched.mask)];
      // [id_table.probe] acquire <- [id_table.publish], [id_table.withdraw]: the object is visible. A free entry ends
      // the search: entries fill up in the order of probing and never become free again.
      const std::uint64_t key = seen.key.load(std::memory_order_acquire);
      if (key == 0) return {presence::unknown, nullptr};
      if (static_cast<std::uint32_t>(key) != id) continue;
      if (key >> 32 != present_mark) return {presence::withdrawn, nullptr};
      // [id_table.object] relaxed <- [id_table.fill]: written once, before the key.
      return {presence::present, seen.object.load(std::memory_order_relaxed)};
    }
  }

  id_entry search_newest(std::uint32_t id) const noexcept {
    // [id_table.current] acquire <- [id_table.grow]: the entries were copied into it.
    table* const current = newest_.load(std::memory_order_acquire);
    return current != nullptr ? search(*current, id) : id_entry{presence::unknown, nullptr};
  }

  [[gnu::noinline]] id_entry look_up_slow(std::uint32_t id) const noexcept {
    const std::lock_guard<mutex> lock(mutex_);
    return look_up_locked(id);
  }

  // Under the lock, as is everything below.
  id_entry look_up_locked(std::uint32_t id) const noexcept {
    // [id_table.newest] relaxed <- [id_table.grow]: under the lock.
    table* const newest = newest_.load(std::memory_order_relaxed);
    const id_entry found = newest != nullptr ? search(*newest, id) : id_entry{presence::unknown, nullptr};
    if (found.state == presence::unknown && was_noted(id)) return {presence::withdrawn, nullptr};
    return found;
  }

  // The last id of each interval, by its first.
  using intervals = std::map<std::uint32_t, std::uint32_t>;

  [[nodiscard]] static bool contains(const intervals& noted, std::uint32_t id) noexcept {
    const auto behind = noted.upper_bound(id);
    return behind != noted.begin() && std::prev(behind)->second >= id;
  }
  [[nodiscard]] bool was_noted(std::uint32_t id) const noexcept {
    return contains(withdrawn_, id) || contains(older_withdrawn_, id);
  }

  // The id may be noted already, if memory was short before.
  void note(std::uint32_t id) {
    if (was_noted(id)) return;
    if (withdrawn_.size() == intervals_max_) older_withdrawn_ = std::exchange(withdrawn_, {});
    const auto behind = withdrawn_.upper_bound(id);
    const bool joins_behind = behind != withdrawn_.end() && behind->first - 1 == id;
    if (behind != withdrawn_.begin() && std::prev(behind)->second + 1 == id) {
      std::prev(behind)->second = joins_behind ? behind->second : id;
    } else {
      withdrawn_.emplace_hint(behind, id, joins_behind ? behind->second : id);
    }
    if (joins_behind) withdrawn_.erase(behind);
  }

  // False: no memory.
  [[nodiscard]] bool note_withdrawn(table& searched) noexcept {
    try {
      for (std::size_t i = 0; i <= searched.mask; ++i) {
        // [id_table.copy] relaxed <- [id_table.publish], [id_table.withdraw]: under the lock.
        const std::uint64_t key = searched.entries()[i].key.load(std::memory_order_relaxed);
        if (key >> 32 == withdrawn_mark) note(static_cast<std::uint32_t>(key));
      }
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }

  [[nodiscard]] static table* make_table(std::size_t slots, table* older) noexcept {
    void* const memory = support::allocate_zeroed(bytes_of(slots));
    return memory == nullptr ? nullptr : new (memory) table{slots - 1, older};
  }

  void publish(table& filled) noexcept {
    // [id_table.grow] release -> [id_table.current], [id_table.newest], [id_table.destruct]: carries the copies.
    newest_.store(&filled, std::memory_order_release);
  }

  static void copy(table& from, table& to, bool with_tombstones) noexcept {
    for (std::size_t i = 0; i <= from.mask; ++i) {
      entry& each = from.entries()[i];
      // [id_table.copy] relaxed <- [id_table.publish], [id_table.withdraw]: under the lock.
      const std::uint64_t key = each.key.load(std::memory_order_relaxed);
      if (key == 0 || (key >> 32 == withdrawn_mark && !with_tombstones)) continue;
      // [id_table.object] relaxed <- [id_table.fill]: under the lock.
      fill(to, static_cast<std::uint32_t>(key), key >> 32, each.object.load(std::memory_order_relaxed));
    }
  }

  // No more than half of the entries are used, so that every search ends.
  table& with_room_for_one_more() {
    // [id_table.newest] relaxed <- [id_table.grow]: under the lock.
    table* old = newest_.load(std::memory_order_relaxed);
    if (old != nullptr && 2 * (used_ + 1) <= old->mask + 1) return *old;
    const std::size_t slots = old == nullptr ? first_slots_ : 2 * (old->mask + 1);
    table* const grown = make_table(slots, old);
    if (grown == nullptr) throw std::bad_alloc();
    if (old != nullptr) copy(*old, *grown, true);
    publish(*grown);
    return *grown;
  }

  static void fill(table& target, std::uint32_t id, std::uint64_t mark, void* object) noexcept {
    for (std::uint32_t probe = 0;; ++probe) {
      entry& free = target.entries()[index_of(id, probe, target.mask)];
      // [id_table.mine] relaxed <- [id_table.publish]: under the lock.
      if (free.key.load(std::memory_order_relaxed) != 0) continue;
      // [id_table.fill] relaxed -> [id_table.object]: the key publishes it.
      free.object.store(object, std::memory_order_relaxed);
      // [id_table.publish] release -> [id_table.probe], [id_table.mine], [id_table.copy]: carries the object.
      free.key.store(mark << 32 | id, std::memory_order_release);
      return;
    }
  }

  std::size_t first_slots_ = 2;
  std::size_t tombstones_min_;
  std::size_t used_ = 0;  // includes tombstones
  std::size_t tombstones_ = 0;
  std::size_t intervals_max_;
  intervals withdrawn_;        // the newest ones
  intervals older_withdrawn_;  // the ones before
  typename Atomics::template atomic<table*> newest_{nullptr};
  mutable mutex mutex_;
};

}  // namespace weft::base
