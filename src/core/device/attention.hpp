// For the policy `adaptive`: when a device looks at each of the others next.
//
// A device counts its calls of progress. If the count has not changed between two looks, no thread has polled the
// device meanwhile, and the calling thread visits it. If the visit finds messages, the next look follows at once;
// otherwise the time to the next look doubles. A look takes a cache line from the core that polls the device. So looks
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
class attention {
 public:
  using nanoseconds = std::int64_t;

  [[nodiscard]] static nanoseconds now() noexcept { return base::clock::now().time_since_epoch().count(); }

  [[nodiscard]] bool is_due(nanoseconds at) const noexcept { return at >= next_; }
  [[nodiscard]] bool is_due(std::uint32_t device, nanoseconds at) const noexcept { return at >= known_[device].due; }

  /// Whether no thread has polled the device since the last look.
  [[nodiscard]] bool is_neglected(std::uint32_t device, std::uint32_t calls) const noexcept {
    return known_[device].is_known && known_[device].calls == calls;
  }

  /// The device is not visited: another thread has polled it, or is inside its gate.
  void found_attended(std::uint32_t device, std::uint32_t calls, nanoseconds at, unsigned others) noexcept {
    visit_schedule& it = known_[device];
    const nanoseconds longest = std::max(attended_max, others * attended_each);
    it.patience = it.is_known ? std::clamp(2 * it.patience, patience_min, longest) : patience_min;
    it.is_known = true;
    it.calls = calls;
    it.due = at + it.patience;
  }

  /// The device was visited: `calls` is its count after that.
  void visited(std::uint32_t device, std::uint32_t calls, bool has_moved, nanoseconds at) noexcept {
    visit_schedule& it = known_[device];
    it.patience = has_moved ? 0 : std::clamp(2 * it.patience, patience_min, neglected_max);
    it.calls = calls;
    it.due = at + it.patience;
  }

  /// Called after a look at all devices of the mask `among` that were due.
  void set_next(std::uint64_t among, nanoseconds at) noexcept {
    next_ = at + attended_max;  // devices may be added meanwhile
    for (; among != 0; among &= among - 1) {
      next_ = std::min(next_, known_[static_cast<std::size_t>(__builtin_ctzll(among))].due);
    }
  }

 private:
  static constexpr nanoseconds patience_min = 2'000;
  static constexpr nanoseconds neglected_max = 16'000;  // while visits find nothing
  static constexpr nanoseconds attended_max = 16'000;
  static constexpr nanoseconds attended_each = 4'000;

  struct visit_schedule {
    nanoseconds due = 0;
    nanoseconds patience = 0;
    std::uint32_t calls = 0;
    bool is_known = false;
  };

  nanoseconds next_ = 0;
  std::array<visit_schedule, shared_devices::room> known_{};
};

}  // namespace weft::core
