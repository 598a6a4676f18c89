// The devices of a runtime, by index. Device 0 is the default device; it takes what comes for devices that are gone.
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
  /// Before any is opened: how many there may be at a time.
  void set_room(std::uint32_t count);

  /// **Errors**: invalid_state inside a handler or hook of the default device, and where there are as many as may be.
  [[nodiscard]] device_state& open(runtime_state& owner, const device_options& options);
  /// From here on no thread of another device begins to poll a shared device.
  void hide(device_state& shared) noexcept;
  /// A device of which no thread will know any more. `entry` is into the gate of the default device, unless `gone` is
  /// that one.
  void close(device_state& gone, poll_gate::scoped_entry& entry,
             const std::vector<std::unique_ptr<net::transport>>& transports) noexcept;

  [[nodiscard]] device_state& standard() noexcept { return *all_[0]; }
  /// Whether the calling thread is inside a handler or hook of the default device.
  [[nodiscard]] bool is_inside_standard() const noexcept {
    return !all_.empty() && all_[0] != nullptr && all_[0]->gate().is_inside();
  }
  /// What other threads than its own may poll.
  [[nodiscard]] shared_devices& shared() noexcept { return shared_; }
  [[nodiscard]] bool is_empty() const noexcept;

  /// Calls `visitor(index, device)`, with null where there is none, while none is opened or closed.
  template <class Visit>
  void visit(const Visit& visitor) {
    const std::scoped_lock lock{mutex_};
    for (std::uint32_t index = 0; index < all_.size(); ++index) visitor(index, all_[index].get());
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<device_state>> all_;  // null where there is none
  std::vector<bool> adopted_;                       // served by device 0
  shared_devices shared_;
};

}  // namespace weft::core
