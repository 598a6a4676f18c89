// SPDX-License-Identifier: BSD-3-Clause
// Sleep and wake-up of threads that wait for a completion object; and of fibers, which are suspended until a signal.
//
// Cost: a signal reads one counter, in a line that is written when a thread falls asleep or wakes up. The sleeping
// thread pays for the rest: a fence in every core (membarrier), a last look, and the system's sleep.
//
// A sleeper is woken by a message for its device (net/ring/sleep_word.hpp), or by another thread of this process that
// signals one of its objects. A condition may become true by other means, which wake no thread, and a peer may die
// between its message and the wake-up; so no sleep lasts longer than `sleep_max`.
//
// A fiber makes no progress while it is suspended, so it is suspended only while another thread serves its device, as
// workers and a `progress_thread` do. Elsewhere it looks again and again, and yields in between. Fibers that are about
// to be suspended at a time share the fence (core/wait/shared_fence.hpp).
#pragma once

#include <array>
#include <atomic>
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
#include "core/wait/shared_fence.hpp"
#include "core/wait/yield_policy.hpp"
#include "net/ring/sleep_word.hpp"
#include "weft/completion.hpp"
#include "weft/detail/copy_mark.hpp"
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
    // [parking.order] seq_cst <- [parking.fence]: for the compiler; the sleeper's membarrier is the core's fence.
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
  /// Wakes the threads that sleep at one device: it has work that no message announces.
  void wake_device(std::uint32_t device) noexcept;

  /// The objects that a thread waits for: a signal of any of them wakes it.
  using completions = std::span<const completion* const>;

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

  class sleep_scope;
  /// The result of the last look before a sleep, and the words to sleep on.
  struct last_look {
    base::awaited_word first;
    base::awaited_word second;
    stillness still;
    time_point longest;
  };
  /// Announces the sleep at the words of both devices and polls a last time. If the thread already has a `sleep_scope`,
  /// it misses no wake-up from now on.
  [[nodiscard]] last_look prepare_sleep(device_state& dev, device_state& standard) noexcept;
  [[nodiscard]] static stillness look(device_state& dev, device_state& standard) noexcept;

  /// Implements `device::wait`. Only the calling thread calls `is_done`, and never again once it has answered true. Its
  /// exceptions are passed on. `details` and `function`, which waits, are for a report of the wait.
  bool wait(device_state& dev, device_state& standard, completions objects, bool (*is_done)(void*), void* condition,
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
    return suspend(note, dev, {&each, 1}, ask, &is_done, until) != suspension::none;
  }

  /// Whether no thread sleeps or is about to. For the end.
  [[nodiscard]] bool is_empty() const noexcept {
    return first_ == nullptr && asleep_.load(std::memory_order_relaxed) == 0;  // [own] at the end
  }

 private:
  // A thread that sleeps or is about to, or a fiber.
  struct sleeper {
    completions objects;
    bool on_all;
    std::uint32_t device;
    sleeper* next = nullptr;
    sleeper* previous = nullptr;
    base::waiter* fiber = nullptr;  // null: a thread
    bool is_woken = false;          // the fiber's event has come, or will
    sleeper* woken_behind = nullptr;
  };
  class fiber_scope;
  struct wake_up;
  enum class suspension : std::uint8_t { none, over, done };

  static constexpr std::size_t buckets = 64;
  [[nodiscard]] static std::size_t bucket_of(const completion* object) noexcept {
    return reinterpret_cast<std::uintptr_t>(object) / detail::cache_line_bytes % buckets;
  }

  void wake(const completion* object) noexcept;
  void enter(sleeper& me) noexcept;
  void leave(sleeper& me) noexcept;
  [[nodiscard]] suspension suspend(base::wait_note& note, device_state& dev, completions objects,
                                   bool (*is_done)(void*), void* condition, const limits& until);
  bool park(device_state& dev, device_state& standard, completions objects, bool (*is_done)(void*), void* condition,
            const limits& until);

  net::sleep_words* words_ = nullptr;
  bool wakes_for_all_ = false;
  yield_policy yields_;
  shared_fence fences_;                                               // fences of fibers
  std::atomic<std::uint32_t> asleep_{0};                              // how many sleep, or are about to
  std::array<std::atomic<std::uint32_t>, buckets> awaited_{};         // sleepers, by the object's address
  std::array<std::atomic<std::uint32_t>, net::slots_max> servers_{};  // threads that serve each device
  std::mutex mutex_;
  sleeper* first_ = nullptr;
  detail::copy_mark copy_;  // marks a child of fork(): the sleepers are threads of the parent
};

/// While a thread has one, it is woken when one of `objects` is signalled, or any object if `on_all`.
class parking::sleep_scope {
 public:
  sleep_scope(parking& lot, completions objects, std::uint32_t device, bool on_all = false) noexcept;
  ~sleep_scope();
  sleep_scope(const sleep_scope&) = delete;
  sleep_scope& operator=(const sleep_scope&) = delete;

 private:
  parking& lot_;
  sleeper me_;
};

}  // namespace weft::core
