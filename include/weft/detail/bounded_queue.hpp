// The bounded completion queue: many producers, many consumers, fetch-and-add tickets, records inline.
// Source: yan2025-lci 5.1.4 (fetch-and-add based fixed-size queue), with an exact full check and stall-proof consumers.
//
// Who: any thread may call any member at any time; construction and destruction are alone.
//
// Progress: try_push is wait-free for a thread with a slot (one atomic read-modify-write) and lock-free for one
// without. try_pop is lock-free. A producer that stops between its ticket and its publication hides the records behind
// its own from consumers, which then answer "nothing ready" and never wait; a consumer that stops anywhere holds
// nothing, because it copies the record out first and claims it afterwards, by moving the head.
//
// Linearization: a push at its publication (or, for those that publish out of order, when the positions before are
// published too); a pop at its claim of the head. False from try_push: the queue was full when the head was read.
// False from try_pop: the record at the head that this thread saw was not published.
//
// Reuse: a slot is free exactly when the head has passed its position. Let H be the largest head that any holder of a
// ticket up to p, p's included, saw in its check. Each of the tickets H + capacity .. p is of another thread: a second
// ticket of one thread comes after a new check, which saw a tail beyond H + capacity and so, having passed, a head
// beyond H. So p < H + capacity + T, where T is the number of threads that take tickets without exactness, those with a
// thread slot; with at least capacity + T slots, H has passed the position p - slots that used p's slot before. The
// holder of p knows it: tickets form a chain on the tail, released after their threads' acquire of the head. Threads
// without a slot take their ticket by compare-and-swap from the tail that they checked and never exceed. A thread slot
// passes from thread to thread through a lock, so two threads in turn count as one. Positions are 64 bits and never
// wrap; a sequence number is its position + 1, so that zeroed memory is empty.
//
// Layout: what nobody writes, then the producers' line, then the consumers' line. Model test:
// tests/model/queue_test.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "weft/detail/atomics.hpp"
#include "weft/detail/atomics_support.hpp"
#include "weft/detail/record_slot.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::detail {

template <class Record, class Atomics = std_atomics>
class bounded_queue {
 public:
  /// Room for `capacity` records. `threads_max` bounds the threads with a slot that push at once; tests make it small.
  /// Throws std::bad_alloc.
  explicit bounded_queue(std::size_t capacity, std::size_t threads_max = thread_slots_max)
      : capacity_(static_cast<std::int64_t>(capacity)),
        mask_(slot_count(capacity, threads_max) - 1),
        slots_(static_cast<slot*>(support::allocate_zeroed((mask_ + 1) * sizeof(slot)))) {
    if (slots_ == nullptr) throw std::bad_alloc();
  }
  bounded_queue(const bounded_queue&) = delete;
  bounded_queue& operator=(const bounded_queue&) = delete;
  ~bounded_queue() { support::release_zeroed(slots_, (mask_ + 1) * sizeof(slot)); }

  /// False: full.
  [[nodiscard]] bool try_push(const Record& record) noexcept {
    // A thread whose slot is known, which is every thread after its first push, needs no call.
    if (cached_thread_slot >= thread_slots_max) [[unlikely]]
      return try_push_first(record);
    std::uint64_t position;
    if (!take_ticket(position)) return false;
    put(position, record);
    return true;
  }

  /// Pushes a record that is put together in its slot: its first two words, then `rest_words` words from `rest`.
  [[nodiscard]] bool try_push_parts(std::uint64_t first, std::uint64_t second, const void* rest,
                                    std::size_t rest_words) noexcept {
    std::uint64_t position;
    if (cached_thread_slot >= thread_slots_max) [[unlikely]] {
      if (!take_first_ticket(position)) return false;
    } else if (!take_ticket(position)) {
      return false;
    }
    slot& mine = slots_[position & mask_];
    mine.write_parts(first, second, rest, rest_words);
    publish(mine, position);
    return true;
  }

  /// False: nothing ready.
  [[nodiscard]] bool try_pop(Record& record) noexcept {
    std::uint64_t position;
    return find_first(position) && take_first(position, record);
  }

  // A pop in two steps, so that the record is made where one has been found.

  /// False: nothing ready. True: there is a record at `position`, for whoever takes it first.
  [[nodiscard]] bool find_first(std::uint64_t& position) const noexcept {
    // [bounded_queue.front] acquire <- [bounded_queue.claim]: whoever claimed the record before knew of later ones; so
    // does this thread now, and does not answer "nothing" where there was something all the time.
    position = head_.load(std::memory_order_acquire);
    for (;;) {
      // [bounded_queue.poll] acquire <- [bounded_queue.publish]: on mismatch the words may be anything.
      if (slots_[position & mask_].sequence.load(std::memory_order_acquire) == position + 1) return true;
      // [bounded_queue.front] acquire <- [bounded_queue.claim]: unless others have moved on, there is nothing. If the
      // slot was reused, the acquire above makes a newer head visible.
      const std::uint64_t now = head_.load(std::memory_order_acquire);
      if (now == position) return false;
      position = now;
    }
  }

  /// Takes what `find_first` has found, or what is first by now. False: nothing ready any more, and `record` is
  /// anything.
  [[nodiscard]] bool take_first(std::uint64_t position, Record& record) noexcept {
    const slot& first = slots_[position & mask_];
    first.read(record);
    // [bounded_queue.claim] release -> [bounded_queue.passed], [bounded_queue.front]: the copy is made before the slot
    // is free. After a failure everything is looked at anew.
    if (head_.compare_exchange_strong(position, position + 1, std::memory_order_release, std::memory_order_relaxed))
        [[likely]] {
      support::confirm_read(first.words, sizeof(Record));
      return true;
    }
    return take_later(record);
  }

 private:
  // Another thread was first. Apart, so that a pop at first try needs no registers saved.
  [[gnu::noinline]] bool take_later(Record& record) noexcept {
    std::uint64_t position;
    return find_first(position) && take_first(position, record);
  }

 public:
  [[nodiscard]] std::size_t capacity() const noexcept { return static_cast<std::size_t>(capacity_); }

  /// How many records are pushed and not popped, exact only where nobody is pushing or popping.
  [[nodiscard]] std::size_t approximate_size() const noexcept {
    // [stat]
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    // [stat]
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    return tail > head ? static_cast<std::size_t>(tail - head) : 0;
  }

 private:
  using support = atomics_support<Atomics>;
  using slot = record_slot<Record, Atomics>;
  using counter = typename Atomics::template atomic<std::uint64_t>;
  static_assert(sizeof(Record) != 56 || sizeof(slot) == cache_line_bytes, "the common record fills its line");

  static std::uint64_t slot_count(std::size_t capacity, std::size_t threads_max) {
    if (capacity > std::size_t{1} << 40) throw std::bad_alloc();
    return std::bit_ceil(capacity + threads_max);
  }

  [[gnu::noinline]] bool try_push_first(const Record& record) noexcept {
    std::uint64_t position;
    if (!take_first_ticket(position)) return false;
    put(position, record);
    return true;
  }

  // For a thread whose slot is not known yet, or that has none.
  [[gnu::noinline]] bool take_first_ticket(std::uint64_t& position) noexcept {
    return this_thread_slot() != no_thread_slot ? take_ticket(position) : take_ticket_exactly(position);
  }

  void put(std::uint64_t position, const Record& record) noexcept {
    slot& mine = slots_[position & mask_];
    mine.write(record);
    publish(mine, position);
  }

  void publish(slot& mine, std::uint64_t position) noexcept {
    // [bounded_queue.publish] release -> [bounded_queue.poll]: carries the record of `position`.
    mine.sequence.store(position + 1, std::memory_order_release);
  }

  bool take_ticket(std::uint64_t& position) noexcept {
    // [bounded_queue.look] relaxed <- [bounded_queue.ticket], [bounded_queue.exact_ticket]: this thread sees its own
    // last ticket at least.
    if (!has_room(tail_.load(std::memory_order_relaxed))) return false;
    // [bounded_queue.ticket] acq_rel <- [bounded_queue.exact_ticket], -> [bounded_queue.ticket], [bounded_queue.look]:
    // passes on the heads seen so far.
    position = tail_.fetch_add(1, std::memory_order_acq_rel);
    return true;
  }

  bool take_ticket_exactly(std::uint64_t& position) noexcept {
    // [bounded_queue.look] relaxed <- [bounded_queue.ticket], [bounded_queue.exact_ticket]: the compare-and-swap finds
    // out if it is old.
    position = tail_.load(std::memory_order_relaxed);
    do {
      if (!has_room(position)) return false;
      // [bounded_queue.exact_ticket] release -> [bounded_queue.ticket], [bounded_queue.look]: passes on the head that
      // it saw; its own check is exact, so it needs no other's.
    } while (
        !tail_.compare_exchange_weak(position, position + 1, std::memory_order_release, std::memory_order_relaxed));
    return true;
  }

  // Signed: an old tail may lie behind a fresh head.
  bool has_room(std::uint64_t tail) noexcept {
    // [bounded_queue.known] acquire <- [bounded_queue.learnt]: as good as reading the head itself a while ago.
    if (static_cast<std::int64_t>(tail - known_head_.load(std::memory_order_acquire)) < capacity_) return true;
    // [bounded_queue.passed] acquire <- [bounded_queue.claim]: the copies out of the slots before it are made.
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    if (static_cast<std::int64_t>(tail - head) >= capacity_) return false;
    // [bounded_queue.learnt] release -> [bounded_queue.known]: passes on what the acquire above learnt. An older head
    // may overwrite a newer one: then someone looks once more.
    known_head_.store(head, std::memory_order_release);
    return true;
  }

  const std::int64_t capacity_;
  const std::uint64_t mask_;
  slot* const slots_;

  // Written by producers; the copy of the head spares them the consumers' line while there is room.
  alignas(cache_line_bytes) counter tail_{0};
  counter known_head_{0};

  // Written by consumers.
  alignas(cache_line_bytes) counter head_{0};
};

}  // namespace weft::detail
