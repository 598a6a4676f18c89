// SPDX-License-Identifier: BSD-3-Clause
// A few words that many threads read and any of them replaces as a whole.
//
// Each version of the record lies in a slot of its own, and `head_` has the number of the version and of its slot. A
// thread that replaces the record claims a free slot, writes it, and exchanges the head if no other thread has done so
// meanwhile. Then the slot of the version before is free.
//
// A thread that is interrupted anywhere in here holds no other thread up. If it never continues, as in a process that
// another thread has forked, one slot is lost; without a free slot the record can't be replaced any more, only closed.
//
// Cost: a read is a few loads from two lines that change rarely.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::mpi {

enum class replacement : std::uint8_t { done, lost, no_slot };

/// **Threads**: any. Progress: reads of a version and `try_` functions are wait-free but for the claim of a slot, which
/// fails only where another thread claims one. Linearization: the exchange of `head_`. A reader that sees a word of a
/// later version, whose slot was reused, sees the head that was changed before, and discards what it has read. Version
/// numbers have 58 bits and don't return. Layout: a slot is a cache line; so is the head, beside words that change as
/// rarely. Model test: tests/model/published_record_test.cpp.
template <std::size_t word_count, std::size_t slot_count, class Atomics = detail::std_atomics>
class basic_published_record {
 public:
  using version = std::uint64_t;
  template <std::size_t count>
  using words = std::array<std::uint64_t, count>;

  static constexpr version first = 0;  // all words are zero

  /// The record is what it is from then on.
  [[nodiscard]] static bool is_closed(version seen) noexcept { return (seen & closed_bit) != 0; }

  [[nodiscard]] version current() const noexcept {
    // [record.head] acquire <- [record.replace]: the words of the version.
    return head_.load(std::memory_order_acquire);
  }

  /// The first words of a version. **Returns**: false where it has been replaced or closed; `read` is then of no use.
  template <std::size_t count>
  [[nodiscard]] bool try_read(version seen, words<count>& read) const noexcept {
    static_assert(count <= word_count);
    const slot& source = slots_[seen % slot_count];
    for (std::size_t each = 0; each < count; ++each) {
      // [record.read] acquire <- [record.write]: where the slot was reused, that the head has changed.
      read[each] = source.words[each].load(std::memory_order_acquire);
    }
    // [record.read] relaxed: the loads before order it.
    return head_.load(std::memory_order_relaxed) == seen;
  }

  /// Replaces a version that is not closed, if it is the current one.
  [[nodiscard]] replacement try_replace(version seen, const words<word_count>& written) noexcept {
    const std::size_t mine = claim(seen % slot_count);
    if (mine == slot_count) return replacement::no_slot;
    for (std::size_t each = 0; each < word_count; ++each) {
      // [record.write] release -> [record.read]: that the head is no longer that of the slot's version before.
      slots_[mine].words[each].store(written[each], std::memory_order_release);
    }
    const version next = (seen / number_step + 1) * number_step + mine;
    version expected = seen;
    // [record.replace] release -> [record.head]: the words.
    const bool is_done =
        head_.compare_exchange_strong(expected, next, std::memory_order_release, std::memory_order_relaxed);
    // [record.free] release -> [record.claim]: that the head is another one; the words, which are overwritten then.
    claimed_.fetch_and(~bit(is_done ? seen % slot_count : mine), std::memory_order_release);
    return is_done ? replacement::done : replacement::lost;
  }

  /// Closes a version, if it is the current one.
  void close(version seen) noexcept {
    // relaxed: the words have been published by the head that it replaces, and are in a release sequence with it.
    head_.compare_exchange_strong(seen, seen | closed_bit, std::memory_order_relaxed, std::memory_order_relaxed);
  }

  /// How many threads could replace the record at one time. Used by tests.
  [[nodiscard]] int free_slots() const noexcept {
    return static_cast<int>(slot_count) - std::popcount(claimed_.load(std::memory_order_relaxed));  // [stat]
  }

 private:
  static_assert(slot_count >= 2 && slot_count <= 32 && (slot_count & (slot_count - 1)) == 0);

  struct alignas(detail::cache_line_bytes) slot {
    std::array<typename Atomics::template atomic<std::uint64_t>, word_count> words{};
  };

  static constexpr version closed_bit = slot_count;
  static constexpr version number_step = 2 * slot_count;

  [[nodiscard]] static constexpr std::uint32_t bit(std::size_t index) noexcept { return std::uint32_t{1} << index; }

  // Returns `slot_count` where all are claimed.
  [[nodiscard]] std::size_t claim(std::size_t used) noexcept {
    // [hint] the exchange below decides.
    std::uint32_t claimed = claimed_.load(std::memory_order_relaxed) | bit(used);
    for (std::size_t each = 0; each < slot_count; ++each) {
      if ((claimed & bit(each)) != 0) continue;
      // [record.claim] acquire <- [record.free]: the slot's version is no longer the current one.
      claimed = claimed_.fetch_or(bit(each), std::memory_order_acquire);
      if ((claimed & bit(each)) == 0) return each;
    }
    return slot_count;
  }

  alignas(detail::cache_line_bytes) typename Atomics::template atomic<version> head_{first};
  typename Atomics::template atomic<std::uint32_t> claimed_{bit(0)};
  std::array<slot, slot_count> slots_{};
};

}  // namespace weft::mpi
