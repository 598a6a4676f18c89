// SPDX-License-Identifier: BSD-3-Clause
// How a sender finds out that a thread sleeps at the other end, and which one.
//
// Each device slot of a rank has a word in memory that its peers share, and so has each doorbell: a thread sleeps at
// its doorbell, while that word does not change. A device's word names the doorbell of one thread, which looks for the
// messages of that device, its *looker*. A thread that is about to sleep names its doorbell in the words of its
// devices, makes every core that may be sending pass a fence (membarrier), looks for messages once more, and sleeps. A
// sender that has published a message reads the device's word; if a doorbell is named there, the sender takes the name
// away, increments the doorbell's word, and wakes the thread. The fence comes between the name and the look, so either
// the sender sees the name or the thread sees the message: the sender needs no fence of its own.
//
// A thread that has to see each message (a probe) sleeps at the device's common doorbell instead, of which the device's
// word has a mark.
//
// A doorbell's word is a count and not a flag: a thread reads it before it names its doorbell, so that it can't sleep
// through a wake-up, and one that is meant for the doorbell's last thread wakes it for nothing.
//
// Cost to a sender if no thread sleeps: one read of a line that seldom changes.
// Progress: lock-free but for the sleep. Linearization: a wake-up at the exchange. Model tests: sleep_word_test.cpp,
// lookers_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::net {

inline constexpr std::uint32_t slots_max = 64;  // devices of a rank: a bit each in the words of a segment

/// `Devices` lie before the common doorbells, of which each has one, and those before the doorbells of threads: a
/// device's word names a doorbell by its distance in the array.
template <class Atomics = detail::std_atomics, std::uint32_t Devices = slots_max>
struct basic_sleep_word {
  /// A device's: 0, or what is named. A doorbell's: how often its thread was woken.
  typename Atomics::template atomic<std::uint32_t> value{0};

  // Words of devices. Naming: **Threads**: one at a time, of the rank that the words belong to.

  /// Called before the fence, the last look for messages, and the sleep.
  void name(const basic_sleep_word& doorbell) noexcept {
    // [sleep.name] relaxed: the fence that follows orders it before the look for messages. A mark that a sender takes
    // meanwhile is set once more here and below, which wakes threads for nothing.
    value.store(common_mark() | static_cast<std::uint32_t>(&doorbell - this) << 1, std::memory_order_relaxed);
  }
  /// The same for the common doorbell.
  void name_common() noexcept {
    // [sleep.name_common] relaxed: as in `name`.
    value.store(value.load(std::memory_order_relaxed) | common, std::memory_order_relaxed);
  }
  /// No looker has to be woken for a message any more.
  void take_back() noexcept { value.store(common_mark(), std::memory_order_relaxed); }  // [hint]

  /// Asked after a message has been published: whether a sleeping thread has to be woken.
  [[nodiscard]] bool is_left_asleep() const noexcept {
    // [sleep.order] seq_cst <- [parking.fence], [seat.fence]: for the compiler; the sleeper's membarrier is the core's
    // fence.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // [sleep.look] relaxed, after [ring.publish]: ordered by the fence of the thread that has set it.
    return value.load(std::memory_order_relaxed) != 0;
  }
  /// Takes the names away, and calls `wake(doorbell)` for each.
  template <class Wake>
  void wake_named(const Wake& wake) noexcept {
    // [sleep.take] relaxed: a woken thread looks for messages again, with an acquire of its own.
    const std::uint32_t named = value.exchange(0, std::memory_order_relaxed);
    if ((named & common) != 0) wake(common_doorbell());
    const std::uint32_t distance = named >> 1;
    if (distance != 0 && distance <= doorbells_end) wake(this[distance]);
  }
  [[nodiscard]] basic_sleep_word& common_doorbell() noexcept { return this[Devices]; }

  // Words of doorbells.

  /// Read before the doorbell is named and before the last look: the thread sleeps while the word is this.
  [[nodiscard]] std::uint32_t mark() const noexcept {
    // [doorbell.mark] acquire <- [doorbell.wake]: what the waking thread had done before.
    return value.load(std::memory_order_acquire);
  }
  /// Ends the sleep at this doorbell. The caller calls the system next.
  void end_sleep() noexcept {
    // [doorbell.wake] release -> [doorbell.mark]: a thread that reads the new number sees why it was woken.
    value.fetch_add(1, std::memory_order_release);
  }

  static constexpr std::uint32_t doorbells_max = 256;
  static constexpr std::uint32_t doorbells_begin = 2 * Devices;  // index of the first doorbell of a thread
  static constexpr std::uint32_t doorbells_end = doorbells_begin + doorbells_max;  // and behind the last

 private:
  static constexpr std::uint32_t common = 1;  // the mark of the common doorbell

  [[nodiscard]] std::uint32_t common_mark() const noexcept {
    return value.load(std::memory_order_relaxed) & common;  // [hint] senders take it
  }
};

using sleep_word = basic_sleep_word<>;

/// The words of a rank's device slots, of their common doorbells, and of the doorbells of threads; in its segment,
/// where it has one. A peer may write anything here: it can only wake a thread for nothing, or not wake one that waits
/// for this peer. The distance that a peer writes in the word of the last device still lies within the array.
using sleep_words = std::array<sleep_word, sleep_word::doorbells_end + slots_max>;

/// Wakes the threads that are named in the word of a device.
void wake_sleepers(sleep_word& word) noexcept;
/// Wakes the threads that sleep at a doorbell.
void wake_at(sleep_word& doorbell) noexcept;

/// How many threads this library has woken in this process so far, for tests.
[[nodiscard]] std::uint64_t wake_up_count() noexcept;

}  // namespace weft::net
