// SPDX-License-Identifier: BSD-3-Clause
// The sleep of a worker's thread that has nothing to run, and how other threads wake it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/assertion.hpp"
#include "fiber/sleep_mark.hpp"
#include "weft/counter.hpp"
#include "weft/detail/atomics.hpp"
#include "weft/detail/test_loop.hpp"
#include "weft/device.hpp"

namespace weft::fibers {

/// A worker with a device sleeps in `device::wait`, where it makes progress; one without sleeps at a word. Before that
/// it looks some times itself at the device for which its last fiber waits: the thread that serves it may have to be
/// woken for a message, and to wake the worker then.
/// **Threads**: the worker sleeps and makes progress, any wake and stop.
class worker_sleep {
 public:
  /// `progress` is null: other threads make progress. **Errors**: those of a `counter`.
  explicit worker_sleep(device* progress);

  /// Wakes the worker for good.
  void stop() noexcept;
  /// Called in a child of fork(), which has one thread.
  void stop_copy() noexcept { stops_.store(true, std::memory_order_relaxed); }  // [own] the process has one thread
  [[nodiscard]] bool is_stopped() const noexcept {
    // [fiber.stops] acquire <- [fiber.stop]: nothing but the wish itself.
    return stops_.load(std::memory_order_acquire);
  }

  [[nodiscard]] bool is_asleep() const noexcept { return mark_.is_asleep(); }
  /// Called after something was set, or put, for the worker.
  void wake_if_asleep() noexcept {
    if (!mark_.is_asleep()) [[likely]]
      return;
    static_cast<void>(mark_.try_call());
    wake();
  }
  /// Wakes it for something that any worker may take. False: it is awake, or another thread has called it.
  [[nodiscard]] bool try_wake() noexcept {
    if (!mark_.try_call()) return false;
    wake();
    return true;
  }

  /// The last fiber that ran waits for messages of this device, which exists until the fiber runs again; null: for
  /// something else, or for nothing.
  void expect(device* awaited) noexcept { awaited_ = awaited; }

  /// Whether the worker's device has moved. Never without a device.
  [[nodiscard]] bool progress() noexcept { return device_ != nullptr && device_->progress(); }

  /// Sleeps until `is_there()` or `stop`, and makes progress meanwhile. `is_there` looks by seq_cst loads, so that a
  /// thread that sets or puts something after the look sees that the worker sleeps. May return earlier without a
  /// device.
  template <class Look>
  void sleep_until(Look is_there) noexcept {
    begin_sleep();
    const auto is_over = [&] { return is_there() || is_stopped_at_sleep(); };
    if (device_ != nullptr) {
      device_->wait(*alarm_, is_over);
    } else {
      look_for(is_over);
      // [fiber.before_sleep] acquire <- [fiber.woken]: a thread that wakes it after this changes the word that it
      // sleeps at.
      const std::uint32_t before = woken_.load(std::memory_order_acquire);
      if (!is_over()) sleep_at_word(before);
    }
    mark_.wake_up();
  }

  /// If all fibers that are ready look again and again for something that has not happened, as in `device::wait`,
  /// the thread sleeps after a while, until something moves; but not long, as their conditions may change without a
  /// signal. Whether that is due, after a call of progress: `moves` is what the fibers have done so far.
  [[nodiscard]] bool is_rest_due(bool has_progressed, std::uint64_t moves, bool is_round_over) noexcept;
  /// That sleep, until `is_there()` as in `sleep_until`, the device moves, or the time is over.
  template <class Look>
  void rest_until(Look is_there) noexcept {
    WEFT_ASSERT(device_ != nullptr);
    begin_sleep();
    const std::uint64_t before = device_->counters().progress.moved;
    const auto is_over = [&] {
      return is_there() || is_stopped_at_sleep() || device_->counters().progress.moved != before;
    };
    device_->wait(*alarm_, is_over, {.timeout = rest_max, .spins = 0});
    mark_.wake_up();
  }

 private:
  static constexpr unsigned rounds_before_rest = 1000;  // some milliseconds
  static constexpr std::chrono::milliseconds rest_max{1};

  void begin_sleep() noexcept {
    WEFT_ASSERT(!mark_.is_asleep());
    mark_.fall_asleep();
  }
  [[nodiscard]] bool is_stopped_at_sleep() const noexcept {
    // [fiber.stops] seq_cst <- [fiber.stop]: a thread that stops it after this look sees that it sleeps.
    return stops_.load(std::memory_order_seq_cst);
  }
  // Looks for a while, by progress on the device that a fiber waits for, if there is one.
  template <class Look>
  void look_for(const Look& is_over) noexcept {
    detail::test_loop tests;
    for (int looks = 0; looks < 256 && !is_over(); ++looks) {
      if (awaited_ == nullptr) {
        detail::std_atomics::pause();
      } else if (awaited_->progress()) {
        looks = 0;
      } else if (--tests.left < 0) {
        detail::rest_between_tests(*awaited_, tests);  // ranks may share cores
      }
    }
  }
  void sleep_at_word(std::uint32_t before) noexcept;
  void wake() noexcept;

  // Fields of the worker.
  device* device_;
  device* awaited_ = nullptr;
  unsigned rounds_of_polls_ = 0;  // rounds of polls alone
  std::uint64_t last_moves_ = 0;  // moves at the end of the last round

  // Fields of all threads.
  alignas(detail::cache_line_bytes) basic_sleep_mark<> mark_;
  std::atomic<bool> stops_{false};
  std::atomic<std::uint32_t> woken_{0};  // used where there is no device to wait by
  std::optional<counter> alarm_;         // used where there is a device
};

}  // namespace weft::fibers
