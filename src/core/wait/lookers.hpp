// SPDX-License-Identifier: BSD-3-Clause
// Which of the threads that wait looks for the messages of a device: its *looker*. The others sleep until a signal.
//
// A thread is in the list from the first time that it sleeps in a wait until that wait ends. While it is awake it makes
// progress, so that a looker that is awake is named nowhere. Where it sleeps, the words of its devices name its
// doorbell (net/ring/sleep_word.hpp).
//
// The role passes
// - to each thread that sleeps for the first time in its wait: most often its message is the next to come, which then
//   wakes this thread alone. The last looker sleeps on, or sleeps next until a signal;
// - to another thread of the list, which sleeps on, when the looker leaves. The words name that one from then on, so
//   the thread that leaves has to pass the fence and to look once, as one that is about to sleep. If it finds
//   something, it wakes the new looker, as a sender does.
//
// So for each device that a thread of the list polls there is a looker in the list at all times.
//
// Cost: a walk through the list for each device of a looker that leaves.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/assertion.hpp"
#include "net/ring/sleep_word.hpp"
#include "weft/detail/atomics.hpp"

namespace weft::core {

/// A member of the list.
template <class Atomics, std::uint32_t Devices>
struct basic_seat {
  std::uint64_t homes = 0;    // the devices that it waits through, a bit each
  std::uint64_t devices = 0;  // which it polls, `homes` among them; 0: it is never a looker
  net::basic_sleep_word<Atomics, Devices>* doorbell = nullptr;
  typename Atomics::template atomic<bool> is_asleep{false};  // or is about to sleep; set under the lock
  bool has_slept = false;                                    // or has been about to
  basic_seat* next = nullptr;
  basic_seat* previous = nullptr;
};

/// **Threads**: one at a time; its owner has a lock. Model test: tests/model/lookers_test.cpp.
template <class Atomics = detail::std_atomics, std::uint32_t Devices = net::slots_max>
class basic_lookers {
 public:
  using seat = basic_seat<Atomics, Devices>;
  using word = net::basic_sleep_word<Atomics, Devices>;

  /// `words`: of the devices.
  void use(word* words) noexcept { words_ = words; }
  [[nodiscard]] seat* first() const noexcept { return first_; }

  void enter(seat& me) noexcept {
    WEFT_ASSERT_CHECKED(me.next == nullptr && me.previous == nullptr);
    me.next = first_;
    if (first_ != nullptr) first_->previous = &me;
    first_ = &me;
  }

  /// The devices whose messages the thread would have to look for, if it slept now.
  [[nodiscard]] std::uint64_t duty_of(const seat& me) const noexcept {
    std::uint64_t out = 0;
    for (std::uint64_t left = me.devices; left != 0; left &= left - 1) {
      const std::uint32_t device = first_of(left);
      const seat* const looker = looker_[device];
      const bool is_home = (me.homes & bit_of(device)) != 0;
      const bool is_first = is_home && (!me.has_slept || (looker != nullptr && (looker->homes & bit_of(device)) == 0));
      if (is_first || looker == nullptr || looker == &me) out |= bit_of(device);
    }
    return out;
  }
  /// Whether each of these devices has a looker that is this thread, or waits through the device itself. Another one
  /// may be awake and busy with its own device.
  [[nodiscard]] bool are_covered(const seat& me, std::uint64_t devices) const noexcept {
    for (std::uint64_t left = devices; left != 0; left &= left - 1) {
      const seat* const looker = looker_[first_of(left)];
      if (looker == nullptr || (looker != &me && (looker->homes & bit_of(first_of(left))) == 0)) return false;
    }
    return true;
  }
  /// The thread is about to sleep at its doorbell, while the word of that is `mark`. Takes the roles that are its duty,
  /// and names the doorbell there. **Returns** the devices: the thread has to pass the fence and to look there before
  /// it sleeps.
  std::uint64_t fall_asleep(seat& me, std::uint32_t& mark) noexcept {
    mark = me.doorbell->mark();
    me.is_asleep.store(true, std::memory_order_relaxed);  // [locked] but for `wake_up`
    const std::uint64_t out = duty_of(me);
    for (std::uint64_t left = out; left != 0; left &= left - 1) {
      looker_[first_of(left)] = &me;
      words_[first_of(left)].name(*me.doorbell);
    }
    me.has_slept = true;
    return out;
  }
  /// Likewise, of one that is never a looker.
  static void fall_asleep(seat& me) noexcept { me.is_asleep.store(true, std::memory_order_relaxed); }  // [locked]
  /// For a thread of the list that has something to look at: whether the caller has to wake it at its doorbell. One
  /// that is awake takes the lock before it sleeps, and looks then.
  [[nodiscard]] bool try_wake(seat& sleeper) noexcept {
    if (!sleeper.is_asleep.load(std::memory_order_relaxed)) return false;  // [locked]
    sleeper.is_asleep.store(false, std::memory_order_relaxed);             // [locked] one wake-up is enough
    return true;
  }
  /// The thread is awake. Without the lock.
  static void wake_up(seat& me) noexcept { me.is_asleep.store(false, std::memory_order_relaxed); }  // [hint]

  /// The thread's wait ends. **Returns** the devices that have a looker now which may be asleep: the caller has to pass
  /// the fence and to look there, and to wake the thread that is named if it finds something.
  [[nodiscard]] std::uint64_t leave(seat& me) noexcept {
    WEFT_ASSERT_CHECKED(me.previous != nullptr || first_ == &me);
    (me.previous != nullptr ? me.previous->next : first_) = me.next;
    if (me.next != nullptr) me.next->previous = me.previous;
    std::uint64_t handed = 0;
    for (std::uint64_t left = me.devices; left != 0; left &= left - 1) {
      const std::uint32_t device = first_of(left);
      if (looker_[device] == &me && pass_role(device)) handed |= bit_of(device);
    }
    return handed;
  }

  [[nodiscard]] static constexpr std::uint64_t bit_of(std::uint32_t device) noexcept {
    return std::uint64_t{1} << device;
  }

 private:
  [[nodiscard]] static std::uint32_t first_of(std::uint64_t devices) noexcept {
    return static_cast<std::uint32_t>(std::countr_zero(devices));
  }
  // Whether the next looker may be asleep. One that is awake names itself when it falls asleep, under the lock.
  [[nodiscard]] bool pass_role(std::uint32_t device) noexcept {
    // The thread that came last of those who sleep: one that is awake may have to wait for a processor.
    seat* heir = nullptr;
    bool is_asleep = false;
    for (seat* each = first_; each != nullptr && !is_asleep; each = each->next) {
      if ((each->devices & bit_of(device)) == 0) continue;
      is_asleep = each->is_asleep.load(std::memory_order_relaxed);  // [locked]
      if (heir == nullptr || is_asleep) heir = each;
    }
    looker_[device] = heir;
    if (is_asleep) {
      words_[device].name(*heir->doorbell);
    } else {
      words_[device].take_back();
    }
    return is_asleep;
  }

  word* words_ = nullptr;
  seat* first_ = nullptr;
  std::array<seat*, Devices> looker_{};
};

}  // namespace weft::core
