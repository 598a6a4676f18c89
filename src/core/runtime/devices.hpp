// SPDX-License-Identifier: BSD-3-Clause
// The devices of a runtime, by index. Device 0 is the default device; it takes the messages for destroyed devices.
//
// **Threads**: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/device/device_state.hpp"
#include "core/device/poll_gate.hpp"
#include "core/device/shared_devices.hpp"
#include "net/transport.hpp"
#include "weft/device.hpp"

namespace weft::core {

class devices {
 public:
  /// Sets how many devices may exist at a time. Called before any is opened.
  void set_room(std::uint32_t count);

  /// Sets `handle`, the one in `interface`, before other threads can find the device. **Errors**: invalid_argument for
  /// a depth of rings that can't be; invalid_state inside a handler or hook of the default device, and if no more
  /// devices may exist.
  void open(runtime_state& owner, device& interface, const device_options& options, device_state*& handle);
  /// Whether posts of all devices ask kinds of memory for addresses.
  void look_at_addresses(bool look);
  /// Lets several threads use a device that one thread had alone, or takes that back; no thread uses it now. Throws
  /// invalid_state for one that other devices' threads may poll.
  void set_shared(device_state& dev, bool shared);
  /// Lets no thread of another device begin any more to poll a shared device.
  void hide(device_state& shared) noexcept;
  /// Destroys a device that no other thread can find any more. `entry` is inside the gate of the default device, unless
  /// `gone` is the default device.
  void close(device_state& gone, poll_gate::scoped_entry& entry,
             const std::vector<std::unique_ptr<net::transport>>& transports) noexcept;

  [[nodiscard]] device_state& standard() noexcept { return *all_[0]; }
  /// Whether the calling thread is inside a handler or hook of the default device.
  [[nodiscard]] bool is_inside_standard() const noexcept {
    return !all_.empty() && all_[0] != nullptr && all_[0]->gate().is_inside();
  }
  /// The devices that threads of other devices may poll.
  [[nodiscard]] shared_devices& shared() noexcept { return shared_; }
  [[nodiscard]] bool is_empty() const noexcept;

  /// Calls `visitor(index, device)` for each index, with null if it has no device. No device is opened or closed
  /// meanwhile. False: one is opened or closed just now.
  template <class Visit>
  [[nodiscard]] bool try_visit(const Visit& visitor) {
    const std::unique_lock lock{mutex_, std::try_to_lock};
    if (!lock) return false;
    for (std::uint32_t index = 0; index < all_.size(); ++index) visitor(index, all_[index].get());
    return true;
  }
  /// Visits them; waits for threads that open or close a device.
  template <class Visit>
  void visit(const Visit& visitor) {
    const std::scoped_lock lock{mutex_};
    for (std::uint32_t index = 0; index < all_.size(); ++index) visitor(index, all_[index].get());
  }

 private:
  // Under the lock. A free index for a device with so many cells in its rings: one that has had a device with as many,
  // or none yet, if there is any; the number of indices if all are taken.
  [[nodiscard]] std::uint32_t free_index(std::uint32_t cells) const noexcept;

  std::mutex mutex_;
  std::vector<std::unique_ptr<device_state>> all_;  // null where there is none
  std::vector<bool> adopted_;                       // polled by device 0
  std::vector<std::uint32_t> cells_;                // cells of the rings of each index; 0: it has had no device yet
  shared_devices shared_;
};

}  // namespace weft::core
