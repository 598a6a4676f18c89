// SPDX-License-Identifier: BSD-3-Clause
// The bounded completion queue: a lane for each of the first threads that push, one for all others together.
// Source: yan2025-lci 6.2.3 names the one word that all threads fetch and add to as the limit of a completion queue.
// Here two threads write no line together if each pushes into its own lane and pops its own records.
//
// Who: any thread may call any member at any time; construction and destruction are alone.
//
// Cost of a push: one line of a ring; the first one of each thread opens its lane, which takes a lock and memory. Cost
// of a pop: one line and one atomic read-modify-write; where nothing is found, two reads for each open lane.
//
// Progress: as in record_lane.hpp, and in bounded_queue.hpp for threads that have no lane of their own. A consumer
// looks into its own lane first, and every so often into the others, so that no lane is forgotten.
//
// Linearization: a push at its publication, a pop at its claim. False from try_push: this thread's lane was full. False
// from try_pop: each lane was empty at some time during the call, not all at one time. A thread that waits for a record
// and is woken by a push comes after that push, and finds the record.
//
// Order: the records of one thread stay in one lane, so they come out in the order of their pushes.
//
// A thread's lane is found by its slot; a slot passes from thread to thread through a lock, and the lane with it.
// Model test: tests/model/queue_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>

#include "weft/detail/bounded_queue.hpp"
#include "weft/detail/record_lane.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::detail {

/// Counts the pops of a thread that has no lane. Initial-exec for the reason given in thread_slot.hpp.
[[gnu::tls_model("initial-exec")]] inline thread_local constinit std::uint32_t pop_count = 0;

template <class Record, class Atomics = std_atomics>
class laned_queue {
  using lane = record_lane<Record, Atomics>;

 public:
  /// Threads that get a lane of their own.
  static constexpr std::uint32_t lanes_max = 8;

  /// Room for `capacity` records in each lane. `lanes` and `threads_max` are smaller in tests only. Throws
  /// std::bad_alloc.
  explicit laned_queue(std::size_t capacity, std::uint32_t lanes = lanes_max,
                       std::size_t threads_max = thread_slots_max)
      : first_{capacity}, lanes_{lanes}, rest_{capacity, threads_max} {
    // [laned_queue.first] relaxed -> [laned_queue.at]: construction comes before everything.
    by_index_[0].store(&first_, std::memory_order_relaxed);
  }
  laned_queue(const laned_queue&) = delete;
  laned_queue& operator=(const laned_queue&) = delete;
  ~laned_queue() {
    // [own] no other thread uses the queue any more. Not `open_`, which a fork() may have met half changed.
    const std::uint32_t open = in_use_.load(std::memory_order_relaxed) & lanes_mask;
    for (std::uint32_t index = 1; index < open; ++index) {
      lane& each = lane_at(index);
      each.~lane();
      support::release_zeroed(&each, sizeof(lane));
    }
  }

  /// False: full.
  [[nodiscard]] bool try_push(const Record& record) noexcept {
    lane* const mine = own_lane();
    return mine != nullptr ? mine->try_push(record) : try_push_first(record);
  }

  /// Pushes a record that is written in place: its first two words, then `rest_words` words from `rest`.
  [[nodiscard]] bool try_push_parts(std::uint64_t first, std::uint64_t second, const void* rest,
                                    std::size_t rest_words) noexcept {
    lane* const mine = own_lane();
    if (mine == nullptr) [[unlikely]]
      return try_push_parts_first(first, second, rest, rest_words);
    return mine->try_push_parts(first, second, rest, rest_words);
  }

  /// Pushes a record that `write` puts into its slot, word by word, if this thread has a lane that it knows to have
  /// room. False: nothing has happened.
  template <class Write>
  [[nodiscard]] [[gnu::always_inline]] bool fast_push(Write write) noexcept {
    lane* const mine = own_lane();
    return mine != nullptr && mine->fast_push(write);
  }

  /// False: nothing ready.
  [[nodiscard]] bool try_pop(Record& record) noexcept {
    if (has_one_lane()) return first_.try_pop(record);
    lane* const mine = own_lane();
    if (mine != nullptr && mine->count_pop() % own_pops_max != 0 && mine->try_pop(record)) return true;
    return try_pop_among(record);
  }

  /// Whether there is only one lane yet: then the lane's two steps may be used in place of `try_pop`.
  [[nodiscard]] bool has_one_lane() const noexcept {
    // [laned_queue.single] relaxed <- [laned_queue.open]: the first lane is always there.
    return in_use_.load(std::memory_order_relaxed) == 1;
  }
  [[nodiscard]] lane& first_lane() noexcept { return first_; }

  /// Whether nothing is ready: each lane was empty at some time during the call. Reads only.
  [[nodiscard]] bool is_empty() const noexcept {
    // [laned_queue.in_use] acquire <- [laned_queue.open]: the lanes are made.
    const std::uint32_t in_use = in_use_.load(std::memory_order_acquire);
    for (std::uint32_t index = 0; index < (in_use & lanes_mask); ++index) {
      if (!lane_at(index).is_empty()) return false;
    }
    return (in_use & rest_in_use) == 0 || rest_.is_empty();
  }

  /// Records that fit into one lane.
  [[nodiscard]] std::size_t capacity() const noexcept { return first_.capacity(); }

  /// How many records are pushed and not popped; exact only while no thread pushes or pops.
  [[nodiscard]] std::size_t approximate_size() noexcept {
    std::size_t out = rest_.approximate_size();
    // [laned_queue.in_use] acquire <- [laned_queue.open]: the lanes are made.
    const std::uint32_t in_use = in_use_.load(std::memory_order_acquire);
    for (std::uint32_t index = 0; index < (in_use & lanes_mask); ++index) out += lane_at(index).approximate_size();
    return out;
  }

 private:
  using support = atomics_support<Atomics>;
  using word = typename Atomics::template atomic<std::uint32_t>;
  using pointer = typename Atomics::template atomic<lane*>;
  static constexpr std::uint32_t lanes_mask = 0xff;
  static constexpr std::uint32_t rest_in_use = 0x100;
  // Pops from a thread's own lane in a row. A pop of another thread's record makes that thread look elsewhere, too, and
  // costs both about as much as a hundred pops.
  static constexpr std::uint32_t own_pops_max = 1024;

  [[nodiscard]] lane* own_lane() const noexcept { return by_slot_[cached_thread_slot]; }

  // Serves threads that have not pushed here before, or have no lane.

  [[gnu::noinline]] bool try_push_first(const Record& record) noexcept {
    lane* const mine = find_lane();
    return mine != nullptr ? mine->try_push(record) : rest_.try_push(record);
  }
  [[gnu::noinline]] bool try_push_parts_first(std::uint64_t first, std::uint64_t second, const void* rest,
                                              std::size_t rest_words) noexcept {
    lane* const mine = find_lane();
    return mine != nullptr ? mine->try_push_parts(first, second, rest, rest_words)
                           : rest_.try_push_parts(first, second, rest, rest_words);
  }

  // The lane of this thread's slot, opened if there is none yet; null if the thread uses the common lane. That never
  // changes for a thread, so that its records stay in order.
  lane* find_lane() noexcept {
    const std::uint32_t slot = this_thread_slot();
    if (by_slot_[slot] != nullptr) return by_slot_[slot];
    // [laned_queue.closed] relaxed <- [laned_queue.open]: if the mark is not seen, the lock follows.
    if ((in_use_.load(std::memory_order_relaxed) & rest_in_use) != 0) return nullptr;
    const std::scoped_lock lock{opening_};
    lane* const mine = slot < thread_slots_max ? make_lane() : nullptr;
    if (mine != nullptr) {
      by_slot_[slot] = mine;
    } else {
      lanes_ = taken_;  // later threads use the common lane
    }
    // [laned_queue.open] release -> [laned_queue.in_use], [laned_queue.single], [laned_queue.closed]: the lane.
    in_use_.store(open_ | (mine != nullptr ? 0 : rest_in_use), std::memory_order_release);
    return mine;
  }

  lane* make_lane() noexcept {
    if (taken_ == lanes_) return nullptr;
    if (taken_ == open_) {
      void* const memory = support::allocate_zeroed(sizeof(lane));
      if (memory == nullptr) return nullptr;
      lane* made = nullptr;
      try {
        made = new (memory) lane{first_.capacity()};
      } catch (const std::bad_alloc&) {
        support::release_zeroed(memory, sizeof(lane));
        return nullptr;
      }
      // [laned_queue.made] relaxed -> [laned_queue.at]: published by the number of open lanes.
      by_index_[open_++].store(made, std::memory_order_relaxed);
    }
    return &lane_at(taken_++);
  }

  [[nodiscard]] lane& lane_at(std::uint32_t index) const noexcept {
    // [laned_queue.at] relaxed <- [laned_queue.made], [laned_queue.first]: the number of open lanes carries the lane.
    lane* const out = by_index_[index].load(std::memory_order_relaxed);
    support::must_exist(out);
    return *out;
  }

  // Pops from all lanes, each time beginning with another one. Used from time to time, and if the own lane is empty.
  [[gnu::noinline]] bool try_pop_among(Record& record) noexcept {
    // [laned_queue.in_use] acquire <- [laned_queue.open]: the lanes are made.
    const std::uint32_t in_use = in_use_.load(std::memory_order_acquire);
    lane* const mine = own_lane();
    // A count of its own for each queue: if several queues shared one count, some of them might never look into other
    // lanes.
    const std::uint32_t pops = mine != nullptr ? mine->pops() : ++pop_count;
    const std::uint32_t open = in_use & lanes_mask;
    const std::uint32_t count = open + ((in_use & rest_in_use) != 0 ? 1 : 0);
    std::uint32_t index = pops / own_pops_max % count;
    for (std::uint32_t looked = 0; looked < count; ++looked) {
      if (index < open ? lane_at(index).try_pop(record) : rest_.try_pop(record)) return true;
      if (++index == count) index = 0;
    }
    return false;
  }

  // The only lane of most queues.
  lane first_;

  // Written once for each lane.
  word in_use_{1};  // the number of open lanes, and whether threads use the common lane
  std::uint32_t open_ = 1;
  std::uint32_t taken_ = 0;
  std::uint32_t lanes_;
  typename support::mutex opening_;
  std::array<pointer, lanes_max> by_index_{};
  std::array<lane*, thread_slot_values> by_slot_{};  // each written by its slot's thread alone

  bounded_queue<Record, Atomics> rest_;
};

}  // namespace weft::detail
