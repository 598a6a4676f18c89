// SPDX-License-Identifier: BSD-3-Clause
// A ring of record slots, and the consumers' side of the bounded queues: many consumers, records inline.
//
// Who: any thread may pop at any time. The derived class has the producers: it decides which one fills which position.
//
// Progress: try_pop is lock-free. A consumer that stops anywhere holds nothing, because it copies the record out first
// and claims it afterwards, by moving the head. Linearization: a pop at its claim of the head. False from try_pop: the
// record at the head that this thread saw was not published.
//
// Reuse: a slot is free exactly when the head has passed its position; producers make sure of that. Positions are
// 64 bits and never wrap; a sequence number is its position + 1, so that zeroed memory is empty.
//
// Cost of a pop: one line of the ring, one atomic read-modify-write. Model test: tests/model/queue_test.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "weft/detail/atomics.hpp"
#include "weft/detail/atomics_support.hpp"
#include "weft/detail/record_slot.hpp"

namespace weft::detail {

template <class Record, class Atomics = std_atomics>
class record_ring {
 public:
  record_ring(const record_ring&) = delete;
  record_ring& operator=(const record_ring&) = delete;

  /// A record that was ready.
  struct ready_slot {
    std::uint64_t position;
    const record_slot<Record, Atomics>* slot;
  };

  /// False: nothing ready.
  [[nodiscard]] bool try_pop(Record& record) noexcept {
    ready_slot found;
    return find_first(found) && take_first(found, record);
  }

  // A pop in two steps, so that a record is constructed only if one has been found.

  /// False: nothing ready. True: `found` has a record; the first consumer that claims it gets it.
  [[nodiscard]] bool find_first(ready_slot& found) const noexcept {
    // [record_ring.front] acquire <- [record_ring.claim]: the consumer that claimed the record before may have seen
    // later records; this thread sees them too, and does not answer "nothing" if the ring was never empty.
    found.position = head_.load(std::memory_order_acquire);
    for (;;) {
      found.slot = &slots_[found.position & mask_];
      // [record_ring.poll] acquire <- [record_ring.publish]: on mismatch the words may be anything.
      if (found.slot->sequence.load(std::memory_order_acquire) == found.position + 1) return true;
      // [record_ring.front] acquire <- [record_ring.claim]: unless consumers have moved on, there is nothing. If the
      // slot was reused, the acquire above makes a newer head visible.
      const std::uint64_t now = head_.load(std::memory_order_acquire);
      if (now == found.position) return false;
      found.position = now;
    }
  }

  /// Takes the record that `find_first` has found, or the first one by now. False: nothing ready, and `record` has any
  /// content.
  [[nodiscard]] bool take_first(const ready_slot& found, Record& record) noexcept {
    if (try_take(found, record)) [[likely]]
      return true;
    return take_later(record);
  }

  /// Whether nothing is ready, as `find_first` sees it. Reads only.
  [[nodiscard]] bool is_empty() const noexcept {
    ready_slot ignored;
    return !find_first(ignored);
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return static_cast<std::size_t>(capacity_); }

 protected:
  using support = atomics_support<Atomics>;
  using slot = record_slot<Record, Atomics>;
  using counter = typename Atomics::template atomic<std::uint64_t>;
  static_assert(sizeof(Record) != 56 || sizeof(slot) == cache_line_bytes, "the common record fills its line");

  /// Throws std::bad_alloc.
  record_ring(std::size_t capacity, std::size_t slots_min)
      : capacity_(static_cast<std::int64_t>(capacity)),
        mask_(slot_count(capacity, slots_min) - 1),
        slots_(static_cast<slot*>(support::allocate_zeroed((mask_ + 1) * sizeof(slot)))) {
    if (slots_ == nullptr) throw std::bad_alloc();
  }
  ~record_ring() { support::release_zeroed(slots_, (mask_ + 1) * sizeof(slot)); }

  [[nodiscard]] slot& slot_at(std::uint64_t position) noexcept { return slots_[position & mask_]; }
  [[nodiscard]] std::int64_t room() const noexcept { return capacity_; }

  /// Publishes the record in the slot of `position`, and touches nothing afterwards.
  static void publish(slot& mine, std::uint64_t position) noexcept {
    // [record_ring.publish] release -> [record_ring.poll]: carries the record of `position`.
    mine.sequence.store(position + 1, std::memory_order_release);
  }

  /// The head's position: the copies out of the slots before it are made.
  [[nodiscard]] std::uint64_t passed() const noexcept {
    // [record_ring.passed] acquire <- [record_ring.claim]
    return head_.load(std::memory_order_acquire);
  }

  /// How many records before `tail` are not popped; exact only while no thread pops.
  [[nodiscard]] std::size_t approximate_size_before(std::uint64_t tail) const noexcept {
    // [hint]
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    return tail > head ? static_cast<std::size_t>(tail - head) : 0;
  }

 private:
  // Another thread was first. A separate function, so that a pop at the first try saves no registers.
  [[gnu::noinline]] bool take_later(Record& record) noexcept {
    ready_slot found;
    while (find_first(found)) {
      if (try_take(found, record)) return true;
    }
    return false;
  }

  [[nodiscard]] [[gnu::always_inline]] bool try_take(const ready_slot& found, Record& record) noexcept {
    found.slot->read(record);
    std::uint64_t position = found.position;
    // [record_ring.claim] release -> [record_ring.passed], [record_ring.front]: the copy is made before the slot is
    // free. After a failure everything is read again.
    if (!head_.compare_exchange_strong(position, position + 1, std::memory_order_release, std::memory_order_relaxed)) {
      return false;
    }
    support::confirm_read(found.slot->words, sizeof(Record));
    return true;
  }

  static std::uint64_t slot_count(std::size_t capacity, std::size_t slots_min) {
    if (capacity > std::size_t{1} << 40) throw std::bad_alloc();
    return std::bit_ceil(slots_min);
  }

  const std::int64_t capacity_;
  const std::uint64_t mask_;
  slot* const slots_;

  // Written by consumers.
  alignas(cache_line_bytes) counter head_{0};
};

}  // namespace weft::detail
