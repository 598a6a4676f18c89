// SPDX-License-Identifier: BSD-3-Clause
// The unbounded completion queue: a linked list of fetch-and-add segments, records inline.
// Source: yan2025-lci 5.1.4 names LCRQ; this keeps its idea (fetch-and-add within a segment, a list of segments)
// without the 16-byte compare-and-swap that LCRQ needs. See docs/decisions/queues.md.
//
// Who: any thread may call any member at any time; construction and destruction are alone.
//
// Progress: both operations are lock-free, with one atomic read-modify-write each while a segment lasts. A producer
// that stops between its ticket and its publication hides the records behind its own; consumers then answer "nothing
// ready" and never wait. A consumer that stops anywhere holds nothing. Memory is allocated only beyond the largest
// number of segments that were ever needed at once, and is given back when the queue is destroyed.
//
// Linearization: a push at its publication (or when the positions before are published too); a pop at its claim.
//
// Reuse. A segment is used in the list many times; each use has a number of its own, its incarnation, which is its
// position in the list: first 1, then 2, and so on. Every word by which threads coordinate has an incarnation in its
// upper 44 bits and a small value in its lower 20: the tail and the head of a segment an offset, `next`, `first_` and
// `last_` the index of a segment. Segments are never freed while the queue lives, so a thread that holds an outdated
// reference may access a segment that is in use elsewhere by now, and that is harmless:
//  - A segment is open while its tail's offset is below its slot count. Only the last segment of the list is ever open:
//    it is linked closed, behind a segment that is closed for good in that incarnation, and opened afterwards. So a
//    ticket from a fetch-and-add on an open segment is always a valid position at the end of the list, even if the
//    thread meant an older incarnation of the segment; a ticket of a closed segment is void.
//  - Every other change is a compare-and-swap from a word with its incarnation, and incarnations never go back. A
//    segment is set up for an incarnation only after it is linked, by any thread that comes, and never by a thread that
//    has yet to link it.
//  - A segment leaves the list when all its records are claimed, so no ticket in it is outstanding, and after `last_`
//    has moved beyond it; consumers that still copy from it fail to claim. Claims release, the leaving consumer
//    acquires them, and the free list and the opening of the segment hand this on to producers.
// At 10^8 records a second 44 bits last for five years; a closed segment's offset grows by at most one per thread.
//
// Layout: see `segment`. Model test: tests/model/queue_test.cpp.
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
class unbounded_queue {
 public:
  /// Segments of `segment_slots` records each (a power of two, at most 2^16). Throws std::bad_alloc.
  explicit unbounded_queue(std::uint32_t segment_slots = 256)
      : slot_count_(std::bit_ceil(segment_slots < 2           ? 2u
                                  : segment_slots > slots_max ? slots_max
                                                              : segment_slots)),
        segment_bytes_(round_up(sizeof(segment) + slot_count_ * sizeof(slot))) {
    const std::uint32_t index = take_segment();
    if (index == no_segment) throw std::bad_alloc();
    segment& only = segment_at(index);
    // [unbounded_queue.construct] relaxed -> [unbounded_queue.construct]: alone.
    only.head.store(pack(1, 0), std::memory_order_relaxed);
    // [unbounded_queue.construct] relaxed -> [unbounded_queue.construct]: alone.
    only.next.store(pack(1, no_segment), std::memory_order_relaxed);
    // [unbounded_queue.construct] relaxed -> [unbounded_queue.construct]: alone.
    only.tail.store(pack(1, 0), std::memory_order_relaxed);
    // [unbounded_queue.construct] relaxed -> [unbounded_queue.construct]: alone.
    first_.store(pack(1, index), std::memory_order_relaxed);
    // [unbounded_queue.construct] relaxed -> [unbounded_queue.construct]: alone.
    last_.store(pack(1, index), std::memory_order_relaxed);
  }
  unbounded_queue(const unbounded_queue&) = delete;
  unbounded_queue& operator=(const unbounded_queue&) = delete;
  ~unbounded_queue() {
    for (std::uint32_t block = 0; block < block_count; ++block) {
      // [unbounded_queue.destruct] relaxed <- [unbounded_queue.block]: alone.
      support::release_zeroed(blocks_[block].load(std::memory_order_relaxed), block_bytes(block));
    }
  }

  /// False: no memory left.
  [[nodiscard]] bool try_push(const Record& record) noexcept {
    for (;;) {
      // [unbounded_queue.last] acquire <- [unbounded_queue.advance]: the segment is set up and was opened.
      const std::uint64_t last = last_.load(std::memory_order_acquire);
      segment& target = segment_at(low(last));
      // [unbounded_queue.look] relaxed <- [unbounded_queue.ticket]: spares closed segments most fetch-and-adds.
      std::uint64_t ticket = target.tail.load(std::memory_order_relaxed);
      if (low(ticket) < slot_count_) {
        // [unbounded_queue.ticket] acquire <- [unbounded_queue.begin], -> [unbounded_queue.look]: the copies of the
        // slot's last use are made.
        ticket = target.tail.fetch_add(1, std::memory_order_acquire);
        if (low(ticket) < slot_count_) {
          slot& mine = slots_of(target)[low(ticket)];
          mine.write(record);
          // [unbounded_queue.publish] release -> [unbounded_queue.poll]: carries the record of this position.
          mine.sequence.store(ticket, std::memory_order_release);
          return true;
        }
      }
      // It is of another incarnation: `last` is outdated.
      if (incarnation(ticket) == incarnation(last) && !append_after(last)) return false;
    }
  }

  /// False: nothing ready.
  [[nodiscard]] bool try_pop(Record& record) noexcept {
    for (;;) {
      // [unbounded_queue.first] acquire <- [unbounded_queue.leave]: the segment's head is that of this incarnation.
      const std::uint64_t first = first_.load(std::memory_order_acquire);
      segment& source = segment_at(low(first));
      // [unbounded_queue.front] acquire <- [unbounded_queue.claim]: at the end of the segment it collects the claims.
      std::uint64_t position = source.head.load(std::memory_order_acquire);
      while (incarnation(position) == incarnation(first) && low(position) < slot_count_) {
        slot& front = slots_of(source)[low(position)];
        // [unbounded_queue.poll] acquire <- [unbounded_queue.publish]: on mismatch the words may be anything.
        if (front.sequence.load(std::memory_order_acquire) != position) {
          // [unbounded_queue.front] acquire <- [unbounded_queue.claim]: collects the claims made meanwhile.
          const std::uint64_t now = source.head.load(std::memory_order_acquire);
          if (now == position) return false;
          position = now;
          continue;
        }
        front.read(record);
        // [unbounded_queue.claim] acq_rel -> [unbounded_queue.front]: the copy is made before the segment is reused. A
        // failure acquires, as a new look at the front would.
        if (source.head.compare_exchange_weak(position, position + 1, std::memory_order_release,
                                              std::memory_order_acquire)) {
          support::confirm_read(front.words, sizeof(Record));
          return true;
        }
      }
      if (incarnation(position) == incarnation(first) && !leave(first)) return false;
    }
  }

  /// Whether nothing is ready: if true, `try_pop` would have answered false at some time during the call. Reads only:
  /// if all records of a segment are claimed, it looks into the next one; only a pop moves `first_` on.
  [[nodiscard]] bool is_empty() const noexcept {
    for (;;) {
      // [unbounded_queue.first] acquire <- [unbounded_queue.leave]: the segment's head is that of this incarnation.
      const std::uint64_t first = first_.load(std::memory_order_acquire);
      finding found = look_into(low(first), incarnation(first));
      if (found == finding::all_claimed) {
        // [unbounded_queue.successor] acquire <- [unbounded_queue.link]: as in `append_after`.
        const std::uint64_t next = segment_at(low(first)).next.load(std::memory_order_acquire);
        if (incarnation(next) != incarnation(first)) continue;
        if (low(next) == no_segment) return true;
        found = look_into(low(next), incarnation(first) + 1);
        if (found == finding::not_begun) return true;
      }
      if (found == finding::ready) return false;
      if (found == finding::nothing) return true;
      // Consumers have moved on meanwhile.
    }
  }

  /// Segments allocated so far; it never shrinks.
  [[nodiscard]] std::size_t segment_count() const noexcept {
    // [stat]
    return made_.load(std::memory_order_relaxed);
  }

 private:
  using support = atomics_support<Atomics>;
  using slot = record_slot<Record, Atomics>;
  using word = typename Atomics::template atomic<std::uint64_t>;

  // All zeros until its first use. One line each for producers, consumers and words that change once per incarnation.
  struct alignas(cache_line_bytes) segment {
    word tail;
    alignas(cache_line_bytes) word head;
    alignas(cache_line_bytes) word next;
    word free_next;
  };
  static_assert(sizeof(segment) == 3 * cache_line_bytes, "slots follow at the start of a line");

  static constexpr unsigned low_bits = 20;
  static constexpr std::uint32_t slots_max = 1u << 16;
  static constexpr std::uint32_t no_segment = (1u << low_bits) - 1;
  // Block b holds 2^b segments; the blocks have room for all segments that there can be.
  static constexpr std::uint32_t block_count = low_bits - 1;

  static constexpr std::uint64_t pack(std::uint64_t incarnation, std::uint32_t low) noexcept {
    return incarnation << low_bits | low;
  }
  static constexpr std::uint64_t incarnation(std::uint64_t packed) noexcept { return packed >> low_bits; }
  static constexpr std::uint32_t low(std::uint64_t packed) noexcept {
    return static_cast<std::uint32_t>(packed & ((1u << low_bits) - 1));
  }

  static constexpr std::size_t round_up(std::size_t bytes) noexcept {
    return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
  }
  std::size_t block_bytes(std::uint32_t block) const noexcept { return segment_bytes_ << block; }

  enum class finding : std::uint8_t { ready, nothing, all_claimed, not_begun, over };

  /// What is at the front of a segment in the incarnation `service`.
  finding look_into(std::uint32_t index, std::uint64_t service) const noexcept {
    segment& source = segment_at(index);
    for (;;) {
      // [unbounded_queue.front] acquire <- [unbounded_queue.claim]: carries a newer `first_` if consumers have moved
      // on.
      const std::uint64_t position = source.head.load(std::memory_order_acquire);
      if (incarnation(position) != service) return incarnation(position) < service ? finding::not_begun : finding::over;
      if (low(position) >= slot_count_) return finding::all_claimed;
      // [unbounded_queue.poll] acquire <- [unbounded_queue.publish]: the record is there to be popped.
      if (slots_of(source)[low(position)].sequence.load(std::memory_order_acquire) == position) return finding::ready;
      // [unbounded_queue.front] acquire <- [unbounded_queue.claim]: unless consumers have moved on, there is nothing.
      if (source.head.load(std::memory_order_acquire) == position) return finding::nothing;
    }
  }

  segment& segment_at(std::uint32_t index) const noexcept {
    const auto block = static_cast<std::uint32_t>(std::bit_width(index + 1)) - 1;
    // [unbounded_queue.at] relaxed <- [unbounded_queue.block]: a thread that has a segment's index has seen its block.
    std::byte* base = static_cast<std::byte*>(blocks_[block].load(std::memory_order_relaxed));
    support::must_exist(base);
    return *reinterpret_cast<segment*>(base + segment_bytes_ * (index + 1 - (1u << block)));
  }

  static slot* slots_of(segment& owner) noexcept { return reinterpret_cast<slot*>(&owner + 1); }

  /// The segment of `last` is closed: makes sure that it has a successor, and that `last_` moves there.
  bool append_after(std::uint64_t last) noexcept {
    segment& closed = segment_at(low(last));
    // [unbounded_queue.successor] acquire <- [unbounded_queue.link]: the segment behind it is free and closed.
    std::uint64_t next = closed.next.load(std::memory_order_acquire);
    if (next == pack(incarnation(last), no_segment)) {
      const std::uint32_t index = take_segment();
      if (index == no_segment) return false;
      // Nothing in the new segment is touched before it is linked: `last` may be outdated, and the segment may have had
      // the incarnation that would come next already.
      // [unbounded_queue.link] acq_rel -> [unbounded_queue.successor]: carries the end of the segment's last use.
      if (closed.next.compare_exchange_strong(next, pack(incarnation(last), index), std::memory_order_release,
                                              std::memory_order_acquire)) {
        next = pack(incarnation(last), index);
      } else {
        give_segment(index);
      }
    }
    if (incarnation(next) == incarnation(last)) advance_last(last, low(next));
    return true;
  }

  /// Sets up the successor, opens it and moves `last_` to it. When this returns, this or another thread has done all
  /// that.
  void advance_last(std::uint64_t last, std::uint32_t successor) noexcept {
    const std::uint64_t service = incarnation(last) + 1;
    segment& opened = segment_at(successor);
    raise(opened.head, pack(service, 0));
    raise(opened.next, pack(service, no_segment));
    raise(opened.tail, pack(service, 0));
    std::uint64_t expected = last;
    // [unbounded_queue.advance] release -> [unbounded_queue.last]: the segment is set up and open, or was.
    last_.compare_exchange_strong(expected, pack(service, successor), std::memory_order_release,
                                  std::memory_order_relaxed);
  }

  // Begins an incarnation, unless that one or a later one has begun: incarnations never go back.
  static void raise(word& target, std::uint64_t value) noexcept {
    // [unbounded_queue.before] relaxed <- [unbounded_queue.begin], [unbounded_queue.closed]: the exchange checks it.
    std::uint64_t seen = target.load(std::memory_order_relaxed);
    while (incarnation(seen) < incarnation(value)) {
      // [unbounded_queue.begin] release -> [unbounded_queue.ticket], [unbounded_queue.before]: carries the end of the
      // segment's last use, which this thread has by the link.
      target.compare_exchange_weak(seen, value, std::memory_order_release, std::memory_order_relaxed);
    }
  }

  /// All records in the segment of `first` are claimed: false if no other follows, else `first_` moves on.
  bool leave(std::uint64_t first) noexcept {
    segment& empty = segment_at(low(first));
    // [unbounded_queue.successor] acquire <- [unbounded_queue.link]: as in `append_after`.
    const std::uint64_t next = empty.next.load(std::memory_order_acquire);
    if (incarnation(next) != incarnation(first)) return true;
    if (low(next) == no_segment) return false;
    // Unconditionally: a read of `last_` might be outdated, and `last_` must not stay at a segment that is reused.
    advance_last(first, low(next));
    std::uint64_t expected = first;
    // [unbounded_queue.leave] release -> [unbounded_queue.first]: carries the set-up of the next segment.
    if (first_.compare_exchange_strong(expected, pack(incarnation(first) + 1, low(next)), std::memory_order_release,
                                       std::memory_order_relaxed)) {
      give_segment(low(first));
    }
    return true;
  }

  // A stack of unused segments; the upper bits of its top count changes, so that a top never comes back.
  void give_segment(std::uint32_t index) noexcept {
    segment& unused = segment_at(index);
    // [unbounded_queue.free_top] relaxed <- [unbounded_queue.give]: the exchange checks it.
    std::uint64_t top = free_.load(std::memory_order_relaxed);
    do {
      // [unbounded_queue.below] relaxed -> [unbounded_queue.beneath]: published by the exchange.
      unused.free_next.store(low(top), std::memory_order_relaxed);
      // [unbounded_queue.give] release -> [unbounded_queue.take], [unbounded_queue.free_top]: the thread that takes the
      // segment comes after its last use.
    } while (!free_.compare_exchange_weak(top, pack(incarnation(top) + 1, index + 1), std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  /// An unused segment, closed; `no_segment` if there is no memory left.
  std::uint32_t take_segment() noexcept {
    // [unbounded_queue.take] acquire <- [unbounded_queue.give]: comes after the segment's last use.
    std::uint64_t top = free_.load(std::memory_order_acquire);
    while (low(top) != 0) {
      // [unbounded_queue.beneath] relaxed <- [unbounded_queue.below]: only right if the exchange succeeds.
      const std::uint64_t below = segment_at(low(top) - 1).free_next.load(std::memory_order_relaxed);
      // [unbounded_queue.take] acquire <- [unbounded_queue.give]: after its last use. Changes the word
      // that [unbounded_queue.free_top] reads.
      if (free_.compare_exchange_weak(top, pack(incarnation(top) + 1, low(below)), std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        return low(top) - 1;
      }
    }
    return make_segment();
  }

  std::uint32_t make_segment() noexcept {
    // [unbounded_queue.made] relaxed <- [unbounded_queue.count]: the exchange checks it.
    std::uint64_t made = made_.load(std::memory_order_relaxed);
    do {
      const auto block = static_cast<std::uint32_t>(std::bit_width(made + 1)) - 1;
      if (block >= block_count || !make_block(block)) return no_segment;
      // [unbounded_queue.count] relaxed -> [unbounded_queue.made]: only hands out the number.
    } while (!made_.compare_exchange_weak(made, made + 1, std::memory_order_relaxed, std::memory_order_relaxed));
    const auto index = static_cast<std::uint32_t>(made);
    // [unbounded_queue.closed] relaxed -> [unbounded_queue.before]: published by the link; zero would mean open.
    segment_at(index).tail.store(pack(0, slot_count_), std::memory_order_relaxed);
    return index;
  }

  bool make_block(std::uint32_t block) noexcept {
    // [unbounded_queue.known] acquire <- [unbounded_queue.block]: another thread made the block; it is all zeros.
    if (blocks_[block].load(std::memory_order_acquire) != nullptr) return true;
    void* memory = support::allocate_zeroed(block_bytes(block));
    if (memory == nullptr) return false;
    void* expected = nullptr;
    // [unbounded_queue.block] acq_rel -> [unbounded_queue.known], [unbounded_queue.at], [unbounded_queue.destruct]:
    // carries the zeros; a failure acquires those of another thread.
    if (!blocks_[block].compare_exchange_strong(expected, memory, std::memory_order_release,
                                                std::memory_order_acquire)) {
      support::release_zeroed(memory, block_bytes(block));
    }
    return true;
  }

  const std::uint32_t slot_count_;
  const std::size_t segment_bytes_;

  // Change once per segment.
  word first_{0};
  word last_{0};
  word free_{0};
  word made_{0};
  typename Atomics::template atomic<void*> blocks_[block_count] = {};
};

}  // namespace weft::detail
