// SPDX-License-Identifier: BSD-3-Clause
// The devices through which one thread waits: one mostly.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/device/device_state.hpp"

namespace weft::core {

/// **Threads**: one.
class waited_devices {
 public:
  /// `standard`: the default device, which the thread polls as well.
  waited_devices(device_state& only, device_state& standard) noexcept : first_{only}, standard_{standard} {}
  /// Several; none is given twice. `others` lives as long as the wait.
  waited_devices(device_state& first, std::span<device_state* const> others, device_state& standard) noexcept
      : first_{first}, others_{others}, standard_{standard} {}

  /// Makes progress on each. Returns whether one has moved something.
  bool progress() const noexcept {
    bool has_moved = first_.progress();
    for (device_state* const each : others_) has_moved |= each->progress();
    return has_moved;
  }

  [[nodiscard]] device_state& first() const noexcept { return first_; }
  [[nodiscard]] device_state& standard() const noexcept { return standard_; }
  [[nodiscard]] bool are_several() const noexcept { return !others_.empty(); }
  [[nodiscard]] std::uint64_t bits() const noexcept {
    std::uint64_t out = bit_of(first_);
    for (const device_state* const each : others_) out |= bit_of(*each);
    return out;
  }
  /// Other devices that quiet calls of progress on these poll, by their policies.
  [[nodiscard]] std::uint64_t polled() const noexcept {
    std::uint64_t out = first_.others().polled();
    for (device_state* const each : others_) out |= each->others().polled();
    return others_.empty() ? out : out & ~bits();
  }
  template <class Predicate>
  [[nodiscard]] bool are_all(const Predicate& is_so) const noexcept {
    return is_so(first_) && std::ranges::all_of(others_, [&](const device_state* each) { return is_so(*each); });
  }
  /// Looks at these devices, a bit each, for a thread that is about to sleep: any that it waits through or polls.
  [[nodiscard]] stillness look(std::uint64_t devices) const noexcept {
    stillness out = stillness::quiet;
    if ((devices & bit_of(first_)) != 0) out = first_.look_before_sleep();
    for (device_state* const each : others_) {
      if ((devices & bit_of(*each)) != 0) out = std::min(out, each->look_before_sleep());
    }
    const std::uint64_t elsewhere = devices & ~bits();
    return elsewhere == 0 ? out : std::min(out, first_.others().look(elsewhere));
  }

 private:
  [[nodiscard]] static std::uint64_t bit_of(const device_state& dev) noexcept {
    return std::uint64_t{1} << dev.index();
  }

  device_state& first_;
  std::span<device_state* const> others_{};
  device_state& standard_;
};

}  // namespace weft::core
