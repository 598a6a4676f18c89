// SPDX-License-Identifier: BSD-3-Clause
// How many operations of a batch have ended, and which thread finds that all have.
//
// Each of the first threads counts in a line of its own, so no word is written by all. A thread that counts an end
// looks whether the batch is closed, and only then adds all counts up; the thread that closes the batch does the same,
// as its call counts as an operation. Counts and state are sequentially consistent: of two threads that count and then
// look, the later one sees the other's count, and a thread that counts before the close is seen by the thread that
// closes. So one thread at least finds all counts; of several, the exchange of the state chooses one.
//
// Counts never go back, and each close counts one more end: so two rounds have different states, and a thread that is
// late with its exchange can't take the end of a later round, unless 2^32 operations end meanwhile. One that is late
// with its look may end a later round: it adds the counts up anew, and sees the object to signal.
//
// **Progress**: wait-free. **Threads**: any arrive; one closes, after all posts. **Linearization**: the exchange in
// `try_take`. Model test: tests/model/batch_ends_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::detail {

template <class Atomics = std_atomics>
class batch_ends {
  template <class T>
  using atomic = typename Atomics::template atomic<T>;

 public:
  /// Threads that count in a line of their own: those with the first slots.
  static constexpr std::uint32_t threads = 8;

  batch_ends() = default;
  batch_ends(const batch_ends&) = delete;
  batch_ends& operator=(const batch_ends&) = delete;

  /// Counts an end, in the thread with this slot. **Returns** whether the caller has to end the round: one call in each
  /// round does. Then it sees what was done before each of the round's ends.
  [[nodiscard]] bool arrive(std::uint32_t slot) noexcept {
    if (slot < threads) [[likely]] {
      atomic<std::uint32_t>& own = by_thread_[slot].ends;
      const std::uint32_t before = own.load(std::memory_order_relaxed);  // [own]
      // [batch.arrive] seq_cst -> [batch.sum]: the operation's writes; before the look at the state.
      own.store(before + 1, std::memory_order_seq_cst);
    } else {
      // [batch.arrive_shared] seq_cst -> [batch.sum_shared]: the operation's writes; before the look at the state.
      by_others_.ends.fetch_add(1, std::memory_order_seq_cst);
    }
    // [batch.look] seq_cst <- [batch.close]: the object to signal; after the count.
    const std::uint64_t seen = state_.load(std::memory_order_seq_cst);
    return is_closed(seen) && sum() == static_cast<std::uint32_t>(seen) && try_take(seen);
  }

  /// Begins the end of an open round, with `expected` ends since the beginning of all rounds, this call
  /// included. **Returns** as `arrive`.
  [[nodiscard]] bool close(std::uint32_t expected, std::uint32_t slot) noexcept {
    // [batch.close] seq_cst -> [batch.look]: the object to signal; before the counts are added up.
    state_.store(closed | expected, std::memory_order_seq_cst);
    return arrive(slot);
  }

  /// Begins the next round. **Threads**: the one that has to end this one.
  void reopen() noexcept {
    // [batch.reopen] release -> [batch.open]: the outcome of the round.
    state_.store(open, std::memory_order_release);
  }
  /// Whether operations may be posted.
  [[nodiscard]] bool is_open() const noexcept {
    // [batch.open] acquire <- [batch.reopen]: the outcome of the last round.
    return state_.load(std::memory_order_acquire) == open;
  }

 private:
  static constexpr std::uint64_t open = 0;
  static constexpr std::uint64_t closed = std::uint64_t{1} << 32;  // and the number of expected ends
  static constexpr std::uint64_t ending = std::uint64_t{2} << 32;

  struct alignas(cache_line_bytes) count {
    atomic<std::uint32_t> ends{0};
  };

  [[nodiscard]] static constexpr bool is_closed(std::uint64_t state) noexcept { return (state & closed) != 0; }
  [[nodiscard]] std::uint32_t sum() const noexcept {
    // [batch.sum_shared] seq_cst <- [batch.arrive_shared]: the operations' writes.
    std::uint32_t out = by_others_.ends.load(std::memory_order_seq_cst);
    for (const count& each : by_thread_) {
      // [batch.sum] seq_cst <- [batch.arrive]: the operations' writes.
      out += each.ends.load(std::memory_order_seq_cst);
    }
    return out;
  }
  [[nodiscard]] bool try_take(std::uint64_t seen) noexcept {
    // [batch.take] relaxed: it only chooses a thread; `look` and `sum` have ordered the rest.
    return state_.compare_exchange_strong(seen, ending, std::memory_order_relaxed, std::memory_order_relaxed);
  }

  atomic<std::uint64_t> state_{open};  // written twice or three times a round
  std::array<count, threads> by_thread_{};
  count by_others_;
};

}  // namespace weft::detail
