// SPDX-License-Identifier: BSD-3-Clause
// The devices of a rank that threads of other devices may poll: all shared ones, by index.
//
// The thread that polls a device is inside its gate; a device is destroyed only when no thread is inside. A thread that
// has found a device here and is not inside yet says so in its own device (other_devices). To close a device,
// a thread removes it from here, makes every thread pass a fence, waits until no thread is choosing (some
// instructions), and then waits for the gate (end_of_device). Cost: a thread that looks for other devices reads lines
// that are written when devices are made and destroyed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/assertion.hpp"

namespace weft::core {

class device_state;

class shared_devices {
 public:
  static constexpr std::uint32_t room = 64;

  /// A bit for each device, by index; may be outdated.
  [[nodiscard]] std::uint64_t all() const noexcept {
    // [shared_devices.all] relaxed: a hint; `find` says whether a device is there.
    return all_.load(std::memory_order_relaxed);
  }

  /// **Threads**: any that is choosing a device.
  [[nodiscard]] device_state* find(std::uint32_t index) const noexcept {
    // [shared_devices.find] acquire <- [shared_devices.add]: the device is made.
    return devices_[index].load(std::memory_order_acquire);
  }

  /// **Threads**: one at a time, here and in `remove`.
  void add(std::uint32_t index, device_state& made) noexcept {
    WEFT_ASSERT_CHECKED(index < room && (all() & bit_of(index)) == 0);
    // [shared_devices.add] release -> [shared_devices.find]: the device is made.
    devices_[index].store(&made, std::memory_order_release);
    // [shared_devices.more] relaxed: a hint.
    all_.store(all() | bit_of(index), std::memory_order_relaxed);
  }
  void remove(std::uint32_t index) noexcept {
    WEFT_ASSERT_CHECKED(index < room);  // it may be removed already: an end may begin twice (`end_of_device`)
    // [shared_devices.fewer] relaxed: a hint.
    all_.store(all() & ~bit_of(index), std::memory_order_relaxed);
    // [shared_devices.remove] relaxed: ordered by the fence of the thread that closes the device.
    devices_[index].store(nullptr, std::memory_order_relaxed);
  }

  [[nodiscard]] static constexpr std::uint64_t bit_of(std::uint32_t index) noexcept {
    return std::uint64_t{1} << index;
  }

 private:
  std::atomic<std::uint64_t> all_{0};
  std::array<std::atomic<device_state*>, room> devices_{};
};

}  // namespace weft::core
