// SPDX-License-Identifier: BSD-3-Clause
// For the policy `adaptive`: when the threads of a device look at each of the other devices next.
//
// A device counts its calls of progress. If the count has not changed between two looks, no thread has polled the
// device meanwhile, and the calling thread polls it. If that finds messages, the next look follows at once; otherwise
// the time to the next look doubles. A look takes a cache line from the core that polls the device. So looks
// at polled devices are rare, and rarer the more devices there are, because each may have a thread that looks. Cost of
// a call in which no look is due: one read of the clock.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "base/clock.hpp"
#include "core/device/shared_devices.hpp"

namespace weft::core {

/// **Threads**: the one inside the gate of the device that it belongs to.
class poll_schedule {
 public:
  using nanoseconds = std::int64_t;

  [[nodiscard]] static nanoseconds now() noexcept { return base::clock::now().time_since_epoch().count(); }

  [[nodiscard]] bool is_due(nanoseconds deadline) const noexcept { return deadline >= next_; }
  [[nodiscard]] bool is_due(std::uint32_t device, nanoseconds deadline) const noexcept {
    return deadline >= known_[device].due;
  }

  /// Whether no thread has polled the device since the last look.
  [[nodiscard]] bool is_unpolled(std::uint32_t device, std::uint32_t calls) const noexcept {
    return known_[device].is_known && known_[device].calls == calls;
  }

  /// Another thread has polled the device, or is inside its gate.
  void found_polled(std::uint32_t device, std::uint32_t calls, nanoseconds deadline, unsigned others) noexcept {
    device_schedule& it = known_[device];
    const nanoseconds longest = std::max(polled_max, others * polled_each);
    it.patience = it.is_known ? std::clamp(2 * it.patience, patience_min, longest) : patience_min;
    it.is_known = true;
    it.calls = calls;
    it.due = deadline + it.patience;
  }

  /// The calling thread has polled the device: `calls` is its count after that.
  void polled(std::uint32_t device, std::uint32_t calls, bool has_moved, nanoseconds deadline) noexcept {
    device_schedule& it = known_[device];
    it.patience = has_moved ? 0 : std::clamp(2 * it.patience, patience_min, unpolled_max);
    it.calls = calls;
    it.due = deadline + it.patience;
  }

  /// Called after a look at all devices of the mask `among` that were due.
  void set_next(std::uint64_t among, nanoseconds deadline) noexcept {
    next_ = deadline + polled_max;  // devices may be added meanwhile
    for (; among != 0; among &= among - 1) {
      next_ = std::min(next_, known_[static_cast<std::size_t>(__builtin_ctzll(among))].due);
    }
  }

 private:
  static constexpr nanoseconds patience_min = 2'000;
  static constexpr nanoseconds unpolled_max = 16'000;  // while polls find nothing
  static constexpr nanoseconds polled_max = 16'000;
  static constexpr nanoseconds polled_each = 4'000;

  struct device_schedule {
    nanoseconds due = 0;
    nanoseconds patience = 0;
    std::uint32_t calls = 0;
    bool is_known = false;
  };

  nanoseconds next_ = 0;
  std::array<device_schedule, shared_devices::room> known_{};
};

}  // namespace weft::core
