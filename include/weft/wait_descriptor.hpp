// Waiting in other people's event loops: a descriptor for poll, epoll and their like.
#pragma once

#include <memory>

#include "weft/device.hpp"

namespace weft {

namespace core {
class descriptor_state;
}

/// A descriptor that becomes readable once there may be something to do for a device. One round of an event loop:
///
///     while (dev.progress()) {}                // and whatever the completion objects hold
///     if (ready.arm() && nothing_is_there()) {
///       epoll_wait(...);                       // among other descriptors, ready.fd()
///     }
///
/// Between `arm()` and the wait the completion objects are looked at once more: another thread may have signalled one
/// before. A thread of its own sleeps for the descriptor while it is armed; it makes no progress.
class wait_descriptor {
 public:
  /// **Blocking**: briefly, for a thread. **Errors**: `transport_failed` where the system gives no descriptor;
  /// `std::system_error` where there is no thread.
  explicit wait_descriptor(device& through);

  /// **Blocking**: briefly. **Threads**: none may be using it.
  ~wait_descriptor();

  wait_descriptor(const wait_descriptor&) = delete;
  wait_descriptor& operator=(const wait_descriptor&) = delete;

  /// To wait for it to be readable, and nothing else: `arm()` reads what is in it. Open as long as this object lives.
  [[nodiscard]] int fd() const noexcept;

  /// Makes `fd()` unreadable, looks for messages once more, and from then on lets the first message for the device, or
  /// for the default device, and the first signal of a completion object by any thread make it readable. It may become
  /// readable for nothing, at the latest after 100 ms (after 2 ms over transports that
  /// wake nobody, and where the device's policy looks after other shared devices).
  ///
  /// **Blocking**: never; makes progress on this device and on the default device. **Threads**: one at a time; on a
  /// device of one thread's own, that one. **Returns**: false where something has moved or is left to do: call
  /// `progress()`, and don't wait. While the device has hooks, it is always false. **Errors**: `invalid_state` inside
  /// a handler or a node of a graph.
  [[nodiscard]] bool arm();

 private:
  std::unique_ptr<core::descriptor_state> state_;
};

}  // namespace weft
