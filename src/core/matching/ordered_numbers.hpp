// A sender's side of an ordered engine: the next number for each target. The messages behind a number wait for it at
// the target, so a thread that has taken one has to send it, unless it can give it back.
//
// A thread takes a number when its message can't be refused any more: its ring has room, or an operation in hand can
// carry the message until there is room. A message that was refused gives its number back if no other thread has taken
// a later one. A thread without an operation closes the target's word for one post: no other thread passes it then.
//
// Cost: one compare-and-exchange on the target's word. Progress: lock-free; `try_take` and `try_close` fail while
// another thread has closed the word. Callers: any thread; `give_back` and `open` the thread that has the number.
// Linearization: the exchanges, and the store of `open`. The order of the numbers is that of the word's values, and
// they carry nothing else. Numbers wrap around. Model test: tests/model/matching_table_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "weft/detail/atomics.hpp"

namespace weft::core {

template <class Atomics = detail::std_atomics>
class basic_ordered_numbers {
 public:
  /// Of an engine that numbers no messages.
  basic_ordered_numbers() noexcept = default;
  /// Throws std::bad_alloc.
  explicit basic_ordered_numbers(std::uint32_t target_count, std::uint32_t first_sequence = 0)
      : words_{std::make_unique<word[]>(target_count)} {
    for (std::uint32_t rank = 0; rank < target_count; ++rank) {
      // [numbers.first] relaxed: no other thread knows it yet.
      words_[rank].store(open_at(first_sequence), std::memory_order_relaxed);
    }
  }

  /// The number for the next message to `target`, which the caller has to send, or to give back. False: another thread
  /// has closed the word.
  [[nodiscard]] bool try_take(std::uint32_t target, std::uint32_t& sequence) noexcept {
    // [numbers.look] relaxed: a wrong guess makes the exchange fail.
    word& at = words_[target];
    std::uint64_t seen = at.load(std::memory_order_relaxed);
    do {
      if ((seen & closed) != 0) [[unlikely]]
        return false;
      sequence = number_in(seen);
      // [numbers.take] relaxed: the word's values are one order.
    } while (!at.compare_exchange_weak(seen, seen + one, std::memory_order_relaxed));
    return true;
  }

  /// The same. False also if another thread takes a number at this moment.
  [[nodiscard]] [[gnu::always_inline]] bool try_take_once(std::uint32_t target, std::uint32_t& sequence) noexcept {
    // [numbers.look] relaxed: a wrong guess makes the exchange fail.
    word& at = words_[target];
    std::uint64_t seen = at.load(std::memory_order_relaxed);
    if ((seen & closed) != 0) [[unlikely]]
      return false;
    sequence = number_in(seen);
    // [numbers.take] relaxed: as in `try_take`.
    return at.compare_exchange_strong(seen, seen + one, std::memory_order_relaxed);
  }

  /// The message with this number, which the caller has taken last, was not sent. False: another thread has taken a
  /// later number, or has closed the word, and the number has to be used.
  [[nodiscard]] bool give_back(std::uint32_t target, std::uint32_t sequence) noexcept {
    std::uint64_t after = open_at(sequence + 1);
    // [numbers.give_back] relaxed: as [numbers.take].
    return words_[target].compare_exchange_strong(after, open_at(sequence), std::memory_order_relaxed);
  }

  /// The next number, without using it up: until `open` no other thread gets one. False: another thread has closed the
  /// word, or takes a number at this moment.
  [[nodiscard]] bool try_close(std::uint32_t target, std::uint32_t& sequence) noexcept {
    // [numbers.look] relaxed: a wrong guess makes the exchange fail.
    std::uint64_t seen = words_[target].load(std::memory_order_relaxed);
    if ((seen & closed) != 0) return false;
    // [numbers.close] relaxed: as [numbers.take].
    if (!words_[target].compare_exchange_strong(seen, seen | closed, std::memory_order_relaxed)) return false;
    sequence = number_in(seen);
    return true;
  }
  /// `is_used`: the message with number `sequence` was sent.
  void open(std::uint32_t target, std::uint32_t sequence, bool is_used) noexcept {
    // [numbers.open] relaxed: as [numbers.take].
    words_[target].store(open_at(is_used ? sequence + 1 : sequence), std::memory_order_relaxed);
  }

 private:
  // The next number in the upper half, where it wraps around, and a bit for closed.
  using word = typename Atomics::template atomic<std::uint64_t>;
  static constexpr std::uint64_t closed = 1;
  static constexpr std::uint64_t one = std::uint64_t{1} << 32;
  static constexpr std::uint64_t open_at(std::uint32_t next) noexcept { return std::uint64_t{next} << 32; }
  static constexpr std::uint32_t number_in(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32);
  }

  std::unique_ptr<word[]> words_;
};

using ordered_numbers = basic_ordered_numbers<>;

}  // namespace weft::core
