// SPDX-License-Identifier: BSD-3-Clause
// Sleep and wake-up of threads that wait for a completion object; and of fibers, which are suspended until a signal.
//
// Cost: a signal reads one counter, in a line that is written when a thread falls asleep or wakes up. The sleeping
// thread pays for the rest: a fence in every core (membarrier), a last look, and the system's sleep.
//
// Of the threads that wait through one device, one looks for its messages, and is woken by each
// (core/wait/lookers.hpp). The others are woken by a thread of this process that signals one of their objects, and take
// the looker's part when it leaves. A thread that waits for no object (a probe) is woken by each message, too. A
// condition may become true by other means, which wake no thread, and a peer may die between its message and the
// wake-up; so no sleep lasts longer than `sleep_max`.
//
// A fiber makes no progress while it is suspended, so it is suspended only while another thread serves its device, as
// workers and a `progress_thread` do. Elsewhere it looks again and again, and yields in between. Fibers that are about
// to be suspended at a time share the fence (core/wait/shared_fence.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <mutex>
#include <span>
#include <stop_token>

#include "base/assertion.hpp"
#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/long_wait.hpp"
#include "base/this_suspender.hpp"
#include "base/this_wait.hpp"
#include "core/device/device_state.hpp"
#include "core/wait/lookers.hpp"
#include "core/wait/shared_fence.hpp"
#include "core/wait/waited_devices.hpp"
#include "core/wait/yield_policy.hpp"
#include "net/ring/sleep_word.hpp"
#include "weft/completion.hpp"
#include "weft/detail/copy_mark.hpp"
#include "weft/detail/signal_filter.hpp"
#include "weft/wait.hpp"

namespace weft::base {
class waiter;
}

namespace weft::core {

class parking {
 public:
  using time_point = base::clock::time_point;
  static constexpr std::chrono::milliseconds sleep_max{100};
  /// The longest sleep if a transport wakes no sleeper, or the kernel has no fence for all cores.
  static constexpr std::chrono::milliseconds nap_max{2};

  /// **Threads**: one, before any device is made.
  void use(net::sleep_words& words, bool wakes_for_all) noexcept {
    WEFT_ASSERT_CHECKED(words_ == nullptr);
    words_ = &words;
    lookers_.use(words.data());
    wakes_for_all_ = wakes_for_all;
  }
  /// Whether other ranks may run on the processors of this one. **Threads**: one, before any device is made.
  void expect_company(bool others) noexcept { yields_.use(others); }
  [[nodiscard]] bool expects_company() const noexcept { return yields_.is_used(); }
  /// Serves waits that poll and never sleep at a word: one step that found nothing, of a thread or a fiber.
  [[nodiscard]] yield_policy::rest_state begin_rest() const noexcept {
    return {.yields = yields_.begin(), .waiting = {}};
  }
  void rest(yield_policy::rest_state& mine) noexcept {
    if (!base::yield_to_fibers()) yields_.rest(mine);
  }
  /// One step of a wait by tests, of a thread or a fiber. `tests` is of the calling thread.
  void rest_between_tests(detail::test_loop& tests) noexcept;

  /// Wakes the threads that wait for `object`; called after each of its signals. Only the address is used: the object
  /// may have been destroyed.
  [[gnu::always_inline]] void signalled(const completion* object) noexcept {
    if (is_awaited(object)) [[unlikely]]
      wake(object);
  }
  /// Called after a signal: whether a thread that waits for `object` may be asleep. Mostly no thread sleeps at all.
  [[nodiscard]] [[gnu::always_inline]] bool is_awaited(const completion* object) const noexcept {
    // [parking.order] seq_cst <- [parking.fence], [seat.fence]: for the compiler; the sleeper's membarrier is the
    // core's fence.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    // [parking.look] relaxed, after the signal: ordered by the fence of the thread that counts itself in.
    if (asleep_.load(std::memory_order_relaxed) == 0) [[likely]]
      return false;
    // [parking.look] relaxed: also after the signal.
    return awaited_[bucket_of(object)].load(std::memory_order_relaxed) != 0;
  }

  /// Between the first and the second, a thread of Weft's makes progress on a device, and is woken for its messages.
  /// **Threads**: any.
  void begin_service(std::uint32_t device) noexcept {
    servers_[device].fetch_add(1, std::memory_order_relaxed);  // [hint] as in `is_served`
  }
  void end_service(std::uint32_t device) noexcept {
    const std::uint32_t before = servers_[device].fetch_sub(1, std::memory_order_relaxed);  // [hint] as in `is_served`
    WEFT_ASSERT_CHECKED(before != 0);
  }

  /// Whether a thread of Weft's makes progress on the device.
  [[nodiscard]] bool is_served(std::uint32_t device) const noexcept {
    // [hint] a fiber that looks once more, or is suspended for `sleep_max`, does no harm; a fiber that is suspended by
    // `detail::fiber_wait` relies on a scheduler that serves the device as long as its fibers run.
    return servers_[device].load(std::memory_order_relaxed) != 0;
  }

  /// Wakes all sleepers: devices may have work that no signal announces.
  void wake_everybody() noexcept { wake(nullptr); }
  /// Wakes the looker of a device: it has work that no message announces.
  void wake_device(std::uint32_t device) noexcept;

  /// The objects that a thread waits for: a signal of any of them wakes it.
  using completions = std::span<const completion* const>;
  struct awaited {
    completions objects{};
    detail::signal_filter filter{};  // the others do not
    bool is_server = false;          // the thread makes progress for others, which may share its core

    [[nodiscard]] bool is_woken_by(const completion* object) const noexcept {
      return std::ranges::find(objects, object) != objects.end() && filter.passes();
    }
  };

  /// What ends a wait but its event.
  struct limits {
    time_point until = time_point::max();
    std::stop_token stop = {};

    [[nodiscard]] static limits within(std::chrono::nanoseconds timeout, std::stop_token stop) noexcept;
    [[nodiscard]] bool are_reached(time_point now) const noexcept { return now >= until || stop.stop_requested(); }
    /// Reads the clock only if there is a time limit.
    [[nodiscard]] bool are_reached() const noexcept {
      return stop.stop_requested() || (until != time_point::max() && base::clock::now() >= until);
    }
  };

  class seat;
  /// The result of the last look before a sleep, and the words to sleep on.
  struct last_look {
    base::awaited_word first;
    base::awaited_word second;
    stillness still;
    bool is_told;  // no other wake-up is missed until then
    time_point longest;
  };
  [[nodiscard]] static stillness look(device_state& dev, device_state& standard) noexcept;

  /// Implements `device::wait` and `runtime::wait`. Only the calling thread calls `is_done`, and never again once it
  /// has answered true. Its exceptions are passed on. `details` and `function`, which waits, are for a report of the
  /// wait.
  bool wait(const waited_devices& devices, const awaited& events, bool (*is_done)(void*), void* condition,
            const wait_options& options, const base::wait_details& details = {}, const char* function = "device::wait");

  /// If the caller is a fiber and another thread serves the device: suspends it until a
  /// signal of `object`, but not beyond `sleep_max` and `until`. **Returns** false if it has done nothing of that: the
  /// caller looks again and yields.
  template <class Condition>
  [[nodiscard]] bool suspend_fiber(base::wait_note& note, device_state& dev, const completion& object,
                                   Condition is_done, const limits& until) {
    if (!is_served(dev.index())) return false;
    const completion* const each = &object;
    const auto ask = [](void* condition) { return bool{(*static_cast<Condition*>(condition))()}; };
    return suspend(note, {{&each, 1}}, ask, &is_done, until) != suspension::none;
  }

  /// Whether no thread sleeps or is about to. For the end.
  [[nodiscard]] bool is_empty() const noexcept {
    return lookers_.first() == nullptr && asleep_.load(std::memory_order_relaxed) == 0;  // [own] at the end
  }

  /// How often a thread has slept for `sleep_max` although there was something for it, for tests.
  [[nodiscard]] std::uint64_t late_count() const noexcept { return late_.load(std::memory_order_relaxed); }  // [stat]

 private:
  // Whether threads or fibers sleep in a wait, or have been woken and do not run yet.
  [[nodiscard]] bool have_sleepers() const noexcept { return asleep_.load(std::memory_order_relaxed) != 0; }  // [hint]

  // A fiber that is suspended, or a thread that has slept in its wait.
  using lookers = basic_lookers<>;
  struct sleeper : lookers::seat {
    awaited events;
    bool on_all = false;
    base::waiter* fiber = nullptr;  // null: a thread
    bool is_woken = false;          // the fiber's event has come, or will
    sleeper* woken_behind = nullptr;
  };
  class fiber_scope;
  class sleep_scope;
  struct wake_up;
  enum class suspension : std::uint8_t { none, over, done };

  static constexpr std::size_t buckets = 64;
  [[nodiscard]] static std::size_t bucket_of(const completion* object) noexcept {
    return reinterpret_cast<std::uintptr_t>(object) / detail::cache_line_bytes % buckets;
  }

  void wake(const completion* object) noexcept;
  // A thread that sleeps, or a fiber, is counted, so that signals find it.
  void count_in(const sleeper& me) noexcept;
  void count_out(const sleeper& me) noexcept;
  void enter(sleeper& me) noexcept;
  void leave(sleeper& me) noexcept;
  [[nodiscard]] bool are_served(const waited_devices& devices) const noexcept {
    return devices.are_all([this](const device_state& each) { return is_served(each.index()); });
  }
  [[nodiscard]] bool are_messages_told(device_state& dev, stillness still) const noexcept;
  void look_for_heirs(const waited_devices& devices, std::uint64_t handed) noexcept;
  [[nodiscard]] net::sleep_word& doorbell_of(const sleeper& thread) const noexcept;
  // Under the lock. Null: all are taken.
  [[nodiscard]] net::sleep_word* take_doorbell() noexcept;
  void release_doorbell(const net::sleep_word& doorbell) noexcept;
  [[nodiscard]] suspension suspend(base::wait_note& note, const awaited& events, bool (*is_done)(void*),
                                   void* condition, const limits& until);
  bool park(seat& mine, bool (*is_done)(void*), void* condition, const limits& until);

  net::sleep_words* words_ = nullptr;
  bool wakes_for_all_ = false;
  yield_policy yields_;
  shared_fence fences_;                                               // fences of fibers
  std::atomic<std::uint32_t> asleep_{0};                              // how many sleep, or are about to
  std::array<std::atomic<std::uint32_t>, buckets> awaited_{};         // sleepers, by the object's address
  std::array<std::atomic<std::uint32_t>, net::slots_max> servers_{};  // threads that serve each device
  std::atomic<std::uint64_t> late_{0};                                // sleeps that a wake-up should have ended
  std::mutex mutex_;
  lookers lookers_;                                        // all sleepers
  std::bitset<net::sleep_word::doorbells_max> doorbells_;  // that have a thread
  detail::copy_mark copy_;  // marks a child of fork(): the sleepers are threads of the parent
};

/// A thread's place among the sleepers, from its first sleep in a wait until the wait ends: the destructor leaves
/// however it ends, also by an exception of the condition. **Threads**: one.
class parking::seat {
 public:
  /// `on_all`: any signal wakes the thread. Without objects, each message for its devices does, also where all
  /// doorbells are taken.
  seat(parking& lot, const waited_devices& devices, const awaited& events, bool on_all = false) noexcept;
  ~seat();
  seat(const seat&) = delete;
  seat& operator=(const seat&) = delete;

  /// Looks for messages where the thread would have to before a sleep. Saves the fence if it finds something.
  [[nodiscard]] stillness look_first() noexcept;
  /// Announces the sleep, and looks a last time where the thread has to. From now on no wake-up is missed.
  [[nodiscard]] last_look prepare_sleep() noexcept;
  /// The thread is awake.
  void end_sleep() noexcept;
  /// Ends its sleep. **Threads**: any.
  void wake() noexcept;

 private:
  friend class parking;
  // Whether it waits through the default device. If not, messages for that one wake it, too.
  [[nodiscard]] bool is_at_default() const noexcept;
  // `duty`: the devices that it has to look at, beside the default one.
  [[nodiscard]] stillness look(std::uint64_t duty) noexcept;
  // Names where it sleeps: its doorbell, or common doorbells, where each message wakes it. **Returns** the devices
  // whose messages the thread has to look for.
  [[nodiscard]] std::uint64_t announce(last_look& out) noexcept;
  // Each message for the device wakes it.
  [[nodiscard]] base::awaited_word name_common(const device_state& dev) noexcept;

  parking& lot_;
  waited_devices devices_;
  bool is_covered_ = true;  // each device that it polls has a looker
  sleeper me_;
};

}  // namespace weft::core
