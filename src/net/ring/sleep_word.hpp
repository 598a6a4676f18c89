// SPDX-License-Identifier: BSD-3-Clause
// How a sender finds out that a thread sleeps at the other end.
//
// Each device slot of a rank has a word in memory that its peers share. A thread that is about to sleep makes it odd,
// makes every core that may be sending pass a fence (membarrier), looks for messages once more, and sleeps while the
// word does not change. A sender that has published a message reads the word; if it is odd, the sender increments it
// and wakes the sleepers. The sleeper's fence comes between its word and its look, so either the sender sees the word
// or the sleeper sees the message: the sender needs no fence of its own.
//
// Cost to a sender if no thread sleeps: one read of a line that seldom changes.
// Progress: lock-free but for the sleep. Linearization: a wake-up at the exchange. Model test: sleep_word_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::net {

template <class Atomics = detail::std_atomics>
struct basic_sleep_word {
  /// Odd while a thread sleeps. Each wake-up makes it a number that it was never before, so that a thread about to
  /// sleep can't mistake another thread's mark for its own (ABA).
  typename Atomics::template atomic<std::uint32_t> value{0};

  /// Called before the fence, the last look for messages, and the sleep. The thread sleeps while `value` is the answer.
  [[nodiscard]] std::uint32_t prepare_sleep() noexcept {
    // [sleep.prepare_sleep] relaxed: the fence that follows orders it before the look for messages.
    return value.fetch_or(1, std::memory_order_relaxed) | 1;
  }

  /// Asked after a message has been published: whether a sleeping thread has to be woken.
  [[nodiscard]] bool is_left_asleep() const noexcept {
    // [sleep.order] seq_cst <- [parking.fence]: for the compiler; the sleeper's membarrier is the core's fence.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // [sleep.look] relaxed, after [ring.publish]: ordered by the fence of the sleeper that has set it.
    return (value.load(std::memory_order_relaxed) & 1) != 0;
  }

  /// True: the calling thread has to wake the sleepers.
  [[nodiscard]] bool take() noexcept {
    // [sleep.count] relaxed: a wrong guess makes the exchange fail.
    std::uint32_t seen = value.load(std::memory_order_relaxed);
    // [sleep.take] relaxed: a woken sleeper looks for messages again, with an acquire of its own. If the exchange
    // fails, another thread wakes the sleepers.
    return (seen & 1) != 0 && value.compare_exchange_strong(seen, seen + 1, std::memory_order_relaxed);
  }
};

using sleep_word = basic_sleep_word<>;

inline constexpr std::uint32_t slots_max = 64;  // devices of a rank: a bit each in the words of a segment

/// The words of a rank's device slots; in its segment, where it has one. A peer may write anything here: it can only
/// wake a thread for nothing, or not wake one that waits for this peer.
using sleep_words = std::array<sleep_word, slots_max>;

/// Wakes the threads that sleep at `word`.
void wake_sleepers(sleep_word& word) noexcept;

}  // namespace weft::net
