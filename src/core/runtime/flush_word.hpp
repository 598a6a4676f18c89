// SPDX-License-Identifier: BSD-3-Clause
// How many operations are under way that a flush waits for, in two halves, so that a flush waits for the operations
// that had begun before it and for no later ones.
//
// Operations count themselves in the half of the current epoch. A flush notes the epoch; once the other half, of the
// epoch before, is empty, it begins the next epoch, whose operations are counted there. Then it waits until the half of
// its own epoch is empty, which no operation enters any more. So threads that post all the time hold no flush up.
//
// Cost: of an operation, one compare-and-exchange and one subtraction in a word of its rank's or region's.
// Progress: `end` and `is_through` are wait-free but for an exchange that another thread's overtook; `begin` is
// lock-free. Who calls what: any thread; `end` once for each `begin`, with its half. Linearization: each call at its
// access to the word. Wrap-around: epochs count to 256. A flush that misses 256 epochs waits for another one; none ends
// too early, as an epoch begins only when the operations before the last one are complete. Model test:
// tests/model/flush_word_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/assertion.hpp"
#include "weft/detail/atomics.hpp"

namespace weft::core {

template <class Atomics = detail::std_atomics>
class basic_flush_word {
 public:
  /// An operation begins. **Returns** the half in which it is counted, for `end`.
  [[nodiscard]] unsigned begin() noexcept {
    // [flush.epoch] relaxed: a wrong guess makes the exchange fail.
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
      const unsigned half = half_of(epoch_in(seen));
      WEFT_ASSERT_CHECKED(count_in(seen, half) != count_max);
      // [flush.await] relaxed: a flush follows the post in this thread, or in one that this thread synchronized with.
      if (word_.compare_exchange_weak(seen, seen + one_in(half), std::memory_order_relaxed, std::memory_order_relaxed))
        return half;
    }
  }

  /// The operation is complete. **Returns** whether its half is empty: flushes have to look.
  [[nodiscard]] bool end(unsigned half) noexcept {
    // [flush.through] release -> [flush.wait], [flush.turn]: the bytes of the answer to the operation.
    return count_in(word_.fetch_sub(one_in(half), std::memory_order_release), half) == 1;
  }

  /// The epoch in which a flush begins.
  [[nodiscard]] std::uint8_t epoch() const noexcept {
    // [flush.begin] relaxed: no older than the posts before the flush.
    return epoch_in(word_.load(std::memory_order_relaxed));
  }

  /// Whether all operations are complete that had begun when `since` was the epoch.
  [[nodiscard]] bool is_through(std::uint8_t since) noexcept {
    const unsigned half = half_of(since);
    // [flush.wait] acquire <- [flush.through]: the operations that are complete.
    std::uint64_t seen = word_.load(std::memory_order_acquire);
    for (;;) {
      if (count_in(seen, 0) + count_in(seen, 1) == 0) return true;
      const auto ahead = static_cast<std::uint8_t>(epoch_in(seen) - since);
      if (ahead != 0) return ahead != 1 || count_in(seen, half) == 0;
      if (count_in(seen, half ^ 1) != 0) return false;
      // So operations of this epoch are under way, and the next one may begin.
      // [flush.turn] acquire <- [flush.through]: as [flush.wait], where another thread was first.
      if (word_.compare_exchange_weak(seen, seen + epoch_one, std::memory_order_acquire, std::memory_order_acquire))
        return false;
    }
  }

  /// How many operations are under way. For tests and the end.
  [[nodiscard]] std::uint64_t count() const noexcept {
    const std::uint64_t seen = word_.load(std::memory_order_relaxed);  // [hint]
    return count_in(seen, 0) + count_in(seen, 1);
  }

 private:
  static constexpr unsigned count_bits = 28;  // enough for the operations that tickets can name
  static constexpr std::uint64_t count_max = (std::uint64_t{1} << count_bits) - 1;
  static constexpr std::uint64_t epoch_one = std::uint64_t{1} << 2 * count_bits;

  [[nodiscard]] static constexpr unsigned half_of(std::uint8_t epoch) noexcept { return epoch & 1; }
  [[nodiscard]] static constexpr std::uint64_t one_in(unsigned half) noexcept {
    return std::uint64_t{1} << half * count_bits;
  }
  [[nodiscard]] static constexpr std::uint64_t count_in(std::uint64_t word, unsigned half) noexcept {
    return word >> half * count_bits & count_max;
  }
  [[nodiscard]] static constexpr std::uint8_t epoch_in(std::uint64_t word) noexcept {
    return static_cast<std::uint8_t>(word >> 2 * count_bits);
  }

  // The counts of both halves, then the epoch.
  typename Atomics::template atomic<std::uint64_t> word_{0};
};

using flush_word = basic_flush_word<>;

}  // namespace weft::core
