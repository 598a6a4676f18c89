// SPDX-License-Identifier: BSD-3-Clause
// A sender's side of an ordered engine: the next number for each target. The messages behind a number wait for it at
// the target, so a thread that has taken one has to send it, unless it can give it back.
//
// A message may be sent only with a credit of its target's (order_credits.hpp): the target has a description for it,
// should it arrive early. The word of a target has the credits that the engine has got for its next numbers. A post
// that may not be refused takes its number without one; the credits that come next are for the oldest such numbers. So
// the numbers with a credit are always the oldest ones.
//
// A thread takes a number when its message can't be refused any more: its ring has room, or an operation in hand can
// carry the message until there is room. A message that was refused gives its number back if no other thread has taken
// a later one. A thread without an operation closes the target's word for one post: no other thread passes it then.
//
// Cost: one compare-and-exchange on the target's word. Progress: lock-free; all functions that take a number fail while
// another thread has closed the word. Callers: any thread; `give_back` and `open` the thread that has the number.
// Linearization: the exchanges and additions. The order of the numbers is that of the word's values, and they carry
// nothing else. Numbers wrap around. Model test: tests/model/matching_table_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/assertion.hpp"
#include "weft/detail/atomics.hpp"

namespace weft::core {

template <class Atomics = detail::std_atomics>
class basic_ordered_numbers {
 public:
  /// The numbers of an engine that numbers no messages.
  basic_ordered_numbers() noexcept = default;
  /// Throws std::bad_alloc.
  explicit basic_ordered_numbers(std::uint32_t target_count, std::uint32_t first_sequence = 0)
      : words_{std::make_unique<word[]>(target_count)} {
    for (std::uint32_t rank = 0; rank < target_count; ++rank) {
      // [numbers.first] relaxed: no other thread knows it yet.
      words_[rank].store(std::uint64_t{first_sequence} << 32 | no_credit, std::memory_order_relaxed);
    }
  }

  /// The number for the next message to `target`, with its credit. The caller has to send the message, or to give the
  /// number back. False: there is no credit, or another thread has closed the word.
  [[nodiscard]] bool try_take(std::uint32_t target, std::uint32_t& sequence) noexcept {
    // [numbers.look] relaxed: a wrong guess makes the exchange fail.
    word& word_of_rank = words_[target];
    std::uint64_t seen = word_of_rank.load(std::memory_order_relaxed);
    do {
      if (!has_credit(seen)) [[unlikely]]
        return false;
      sequence = number_in(seen);
      // [numbers.take] relaxed: the word's values are one order.
    } while (!word_of_rank.compare_exchange_weak(seen, seen + one_number - 1, std::memory_order_relaxed));
    return true;
  }

  /// Takes a number. False also if another thread takes one at this moment.
  [[nodiscard]] [[gnu::always_inline]] bool try_take_once(std::uint32_t target, std::uint32_t& sequence) noexcept {
    // [numbers.look] relaxed: a wrong guess makes the exchange fail.
    word& word_of_rank = words_[target];
    std::uint64_t seen = word_of_rank.load(std::memory_order_relaxed);
    if (!has_credit(seen)) [[unlikely]]
      return false;
    sequence = number_in(seen);
    // [numbers.take] relaxed: as in `try_take`.
    return word_of_rank.compare_exchange_strong(seen, seen + one_number - 1, std::memory_order_relaxed);
  }

  /// Takes a number also without a credit: the message may be sent once `has_credit_for` is true. False: another thread
  /// has closed the word.
  [[nodiscard]] bool try_take_owed(std::uint32_t target, std::uint32_t& sequence) noexcept {
    // [numbers.look] relaxed: a wrong guess makes the exchange fail.
    word& word_of_rank = words_[target];
    std::uint64_t seen = word_of_rank.load(std::memory_order_relaxed);
    do {
      if (is_closed(seen)) return false;
      sequence = number_in(seen);
      // [numbers.take] relaxed: as in `try_take`.
    } while (!word_of_rank.compare_exchange_weak(seen, seen + one_number - 1, std::memory_order_relaxed));
    return true;
  }

  /// The credits for the numbers that follow; negative: so many of the last numbers have none.
  [[nodiscard]] std::int32_t credits(std::uint32_t target) const noexcept {
    // [numbers.count] relaxed: a number and nothing else.
    return credits_in(words_[target].load(std::memory_order_relaxed));
  }
  /// Whether the message with this number, which was taken, may be sent.
  [[nodiscard]] bool has_credit_for(std::uint32_t target, std::uint32_t sequence) const noexcept {
    // [numbers.count] relaxed: a number and nothing else.
    const std::uint64_t seen = words_[target].load(std::memory_order_relaxed);
    const std::uint32_t first_without = number_in(seen) + static_cast<std::uint32_t>(credits_in(seen));
    return static_cast<std::int32_t>(sequence - first_without) < 0;
  }
  /// Whether another thread has closed the word.
  [[nodiscard]] bool is_closed_to(std::uint32_t target) const noexcept {
    // [numbers.count] relaxed: a number and nothing else.
    return is_closed(words_[target].load(std::memory_order_relaxed));
  }
  /// The oldest numbers without a credit get one each, then the numbers that follow.
  void add_credits(std::uint32_t target, std::uint32_t count) noexcept {
    // [numbers.credit] relaxed: as [numbers.take].
    const std::uint64_t before = words_[target].fetch_add(count, std::memory_order_relaxed);
    WEFT_ASSERT_CHECKED(static_cast<std::uint32_t>(before) + count >= count);
    static_cast<void>(before);
  }

  /// Takes the credits of the numbers that follow, if there are any and the word is open. Returns how many.
  [[nodiscard]] std::uint32_t take_credits(std::uint32_t target) noexcept {
    // [numbers.look] relaxed: a wrong guess makes the exchange fail.
    word& word_of_rank = words_[target];
    std::uint64_t seen = word_of_rank.load(std::memory_order_relaxed);
    do {
      if (!has_credit(seen)) return 0;
      // [numbers.uncredit] relaxed: as [numbers.take].
    } while (!word_of_rank.compare_exchange_weak(seen, seen >> 32 << 32 | no_credit, std::memory_order_relaxed));
    return static_cast<std::uint32_t>(credits_in(seen));
  }

  /// The message with this number, which the caller has taken last with a credit, was not sent. False: another thread
  /// has taken a later number, or has closed the word, and the number has to be used.
  [[nodiscard]] bool give_back(std::uint32_t target, std::uint32_t sequence) noexcept {
    // [numbers.look] relaxed: a wrong guess makes the exchange fail.
    word& word_of_rank = words_[target];
    std::uint64_t seen = word_of_rank.load(std::memory_order_relaxed);
    do {
      if (number_in(seen) != sequence + 1 || is_closed(seen)) return false;
      // [numbers.give_back] relaxed: as [numbers.take].
    } while (!word_of_rank.compare_exchange_weak(seen, seen - one_number + 1, std::memory_order_relaxed));
    return true;
  }

  /// The next number, without using it up: until `open` no other thread gets one. False: there is no credit, another
  /// thread has closed the word, or it takes a number at this moment.
  [[nodiscard]] bool try_close(std::uint32_t target, std::uint32_t& sequence) noexcept {
    // [numbers.look] relaxed: a wrong guess makes the exchange fail.
    std::uint64_t seen = words_[target].load(std::memory_order_relaxed);
    if (!has_credit(seen)) return false;
    // [numbers.close] relaxed: as [numbers.take].
    if (!words_[target].compare_exchange_strong(seen, seen - closed, std::memory_order_relaxed)) return false;
    sequence = number_in(seen);
    return true;
  }
  /// `is_used`: the message with the number of `try_close` was sent.
  void open(std::uint32_t target, bool is_used) noexcept {
    // [numbers.open] relaxed: as [numbers.take].
    words_[target].fetch_add(is_used ? closed + one_number - 1 : closed, std::memory_order_relaxed);
  }

 private:
  // The next number in the upper half, where it wraps around. The lower half is `no_credit` plus the credits for the
  // numbers that follow; `closed` less while a thread has closed the word. It never wraps: there are less than 2^28
  // numbers without a credit, as each has an operation, and far fewer credits.
  using word = typename Atomics::template atomic<std::uint64_t>;
  static constexpr std::uint32_t no_credit = 0x7fff'ffff;  // so that the highest bit says whether there is a credit
  static constexpr std::uint32_t closed = 0x4000'0000;
  static constexpr std::uint32_t open_least = 0x6000'0000;
  static constexpr std::uint64_t one_number = std::uint64_t{1} << 32;
  static constexpr std::uint32_t number_in(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }
  static constexpr bool has_credit(std::uint64_t word) noexcept { return static_cast<std::int32_t>(word) < 0; }
  static constexpr bool is_closed(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(word) < open_least; }
  static constexpr std::int32_t credits_in(std::uint64_t word) noexcept {
    const auto low = static_cast<std::uint32_t>(word) + (is_closed(word) ? closed : 0);
    return static_cast<std::int32_t>(low - no_credit);
  }

  std::unique_ptr<word[]> words_;
};

using ordered_numbers = basic_ordered_numbers<>;

}  // namespace weft::core
