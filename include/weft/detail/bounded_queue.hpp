// SPDX-License-Identifier: BSD-3-Clause
// The bounded completion queue: many producers, many consumers, fetch-and-add tickets, records inline.
// Source: yan2025-lci 5.1.4 (fetch-and-add based fixed-size queue), with an exact full check and stall-proof consumers.
//
// Who: any thread may call any member at any time; construction and destruction are alone.
//
// Progress: try_push is wait-free for a thread with a slot (one atomic read-modify-write) and lock-free for one
// without. A producer that stops between its ticket and its publication hides the records behind its own from
// consumers, which then answer "nothing ready" and never wait. The consumers' side is record_ring.hpp.
//
// Linearization: a push at its publication (if it publishes out of order, when the positions before its own are
// published too). False from try_push: the queue was full when the head was read.
//
// Reuse: a slot is free exactly when the head has passed its position. Let H be the largest head that any holder of a
// ticket up to p, p's included, saw in its check. Each of the tickets H + capacity .. p is of another thread: a second
// ticket of one thread comes after a new check, which saw a tail beyond H + capacity and so, having passed, a head
// beyond H. So p < H + capacity + T, where T is the number of threads that take tickets without exactness, those with a
// thread slot; with at least capacity + T slots, H has passed the position p - slots that used p's slot before. The
// holder of p has seen that: tickets form a chain on the tail, released after their threads' acquire of the head.
// Threads without a slot take their ticket by compare-and-swap from the tail that they checked and never exceed. A
// thread slot passes from thread to thread through a lock, so two threads in turn count as one.
//
// Layout: the ring with the consumers' line, then the producers' line. Model test: tests/model/queue_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/record_ring.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::detail {

template <class Record, class Atomics = std_atomics>
class bounded_queue final : public record_ring<Record, Atomics> {
  using ring = record_ring<Record, Atomics>;

 public:
  /// Room for `capacity` records. `threads_max` bounds the threads with a slot that push at once; tests make it small.
  /// Throws std::bad_alloc.
  explicit bounded_queue(std::size_t capacity, std::size_t threads_max = thread_slots_max)
      : ring{capacity, capacity + threads_max} {}

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

  /// Pushes a record that is written in place: its first two words, then `rest_words` words from `rest`.
  [[nodiscard]] bool try_push_parts(std::uint64_t first, std::uint64_t second, const void* rest,
                                    std::size_t rest_words) noexcept {
    std::uint64_t position;
    if (cached_thread_slot >= thread_slots_max) [[unlikely]] {
      if (!take_first_ticket(position)) return false;
    } else if (!take_ticket(position)) {
      return false;
    }
    slot& mine = ring::slot_at(position);
    mine.write_parts(first, second, rest, rest_words);
    ring::publish(mine, position);
    return true;
  }

  /// How many records are pushed and not popped; exact only while no thread pushes or pops.
  [[nodiscard]] std::size_t approximate_size() const noexcept {
    return ring::approximate_size_before(tail_.load(std::memory_order_relaxed));  // [hint]
  }

 private:
  using typename ring::counter;
  using typename ring::slot;

  [[gnu::noinline]] bool try_push_first(const Record& record) noexcept {
    std::uint64_t position;
    if (!take_first_ticket(position)) return false;
    put(position, record);
    return true;
  }

  // Serves a thread whose slot is not known yet, or that has none.
  [[gnu::noinline]] bool take_first_ticket(std::uint64_t& position) noexcept {
    return this_thread_slot() != no_thread_slot ? take_ticket(position) : take_ticket_exactly(position);
  }

  void put(std::uint64_t position, const Record& record) noexcept {
    slot& mine = ring::slot_at(position);
    mine.write(record);
    ring::publish(mine, position);
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
    // [bounded_queue.look] relaxed <- [bounded_queue.ticket], [bounded_queue.exact_ticket]: the compare-and-swap fails
    // if the value is old.
    position = tail_.load(std::memory_order_relaxed);
    do {
      if (!has_room(position)) return false;
      // [bounded_queue.exact_ticket] release -> [bounded_queue.ticket], [bounded_queue.look]: passes on the head that
      // this thread saw; its own check is exact, so it needs no other thread's.
    } while (
        !tail_.compare_exchange_weak(position, position + 1, std::memory_order_release, std::memory_order_relaxed));
    return true;
  }

  // Signed: an old tail may lie behind a fresh head.
  bool has_room(std::uint64_t tail) noexcept {
    // [bounded_queue.known] acquire <- [bounded_queue.learnt]: like a read of the head itself a while ago.
    if (static_cast<std::int64_t>(tail - known_head_.load(std::memory_order_acquire)) < ring::room()) return true;
    const std::uint64_t head = ring::passed();
    if (static_cast<std::int64_t>(tail - head) >= ring::room()) return false;
    // [bounded_queue.learnt] release -> [bounded_queue.known]: passes on what `passed` acquired. An older head may
    // overwrite a newer one: then a producer reads the head once more.
    known_head_.store(head, std::memory_order_release);
    return true;
  }

  // Written by producers; the copy of the head spares them the consumers' line while there is room.
  alignas(cache_line_bytes) counter tail_{0};
  counter known_head_{0};
};

}  // namespace weft::detail
