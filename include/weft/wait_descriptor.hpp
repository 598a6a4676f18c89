// SPDX-License-Identifier: BSD-3-Clause
// A file descriptor for event loops with poll, epoll and the like.
#pragma once

#include <memory>

#include "weft/device.hpp"

namespace weft {

namespace core {
class descriptor_state;
}

/// A descriptor that becomes readable once a device may have work. One round of an event loop:
///
///     while (dev.progress()) {}                // and empty the completion objects
///     if (ready.arm() && nothing_is_there()) {
///       epoll_wait(...);                       // among other descriptors, ready.fd()
///     }
///
/// Look at the completion objects once more between `arm()` and the wait: another thread may have signalled one before.
/// While the descriptor is armed, a thread of its own sleeps for it; that thread makes no progress.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any. **Errors**: none.
class wait_descriptor {
 public:
  /// Waits on device `dev`, which must outlive it. **Blocking**: briefly, for a thread. **Errors**: `transport_failed`
  /// if the system gives no descriptor; `std::system_error` if it gives no thread.
  explicit wait_descriptor(device& dev);
  template <class WriteReference = device>
  explicit wait_descriptor(...) = delete;  // write a device

  /// Closes the descriptor. **Blocking**: briefly, for its thread. **Threads**: none may be using it.
  ~wait_descriptor();

  wait_descriptor(const wait_descriptor&) = delete;
  wait_descriptor& operator=(const wait_descriptor&) = delete;

  /// The descriptor: only wait until it is readable; `arm()` reads from it. It is open as long as this object lives.
  [[nodiscard]] int fd() const noexcept;

  /// Makes `fd()` unreadable and polls once more. From then on the first message for the device or the default device,
  /// and the first signal of a completion object by any thread, make it readable. It also becomes readable without
  /// cause, at the latest after 100 ms (after 2 ms over transports that wake no sleeping thread, and if the device's
  /// policy polls other shared devices).
  ///
  /// **Blocking**: never; polls this device and the default device. **Threads**: one at a time; for a device of one
  /// thread's own, that thread. **Returns**: false if something has moved or is left to do: call `progress()`, and do
  /// not wait. While the device has hooks, it always returns false. **Errors**: `invalid_state` inside a handler, a
  /// hook or a node of a graph.
  [[nodiscard]] bool arm();

 private:
  std::unique_ptr<core::descriptor_state> state_;
};

}  // namespace weft
