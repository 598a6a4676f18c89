// SPDX-License-Identifier: BSD-3-Clause
// A thread that makes progress.
#pragma once

#include <atomic>
#include <thread>

#include "weft/counter.hpp"
#include "weft/detail/copy_mark.hpp"
#include "weft/device.hpp"

namespace weft {

/// Makes progress on a device in a thread of its own until it is destroyed, and sleeps while there is nothing to do.
/// While it looks it yields its core to other threads. A
/// program that computes for long between two calls of `progress()` stays responsive with it; a program that polls
/// often is faster without.
///
/// Handlers and hooks of the device run in this thread, too. While the device has hooks the thread yields instead of
/// sleeping.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any. **Errors**: none.
/// **Source**: yan2025-lci, 4.2.7; zhou2024, 2.4.
class progress_thread {
 public:
  /// Starts the thread; `options` say how it waits. `dev` must outlive this object. **Blocking**: briefly.
  /// **Errors**: `invalid_argument` for a device that is not shared; `std::system_error` if the system gives no thread.
  explicit progress_thread(weft::device& dev, const wait_options& options = {});
  template <class WriteDeviceAndMembersInOrderOf = wait_options>
  explicit progress_thread(...) = delete;  // write a device, and members of wait_options in their order

  /// Stops the thread. **Blocking**: until the thread's call of `progress()` returns; not inside a handler.
  /// **Threads**: none may be using it.
  ~progress_thread();

  progress_thread(const progress_thread&) = delete;
  progress_thread& operator=(const progress_thread&) = delete;

  /// How it waits.
  [[nodiscard]] const wait_options& options() const noexcept { return options_; }
  /// The device on which it makes progress.
  [[nodiscard]] weft::device& device() const noexcept { return *device_; }
  /// The old name of `device`.
  [[deprecated("use device()")]] [[nodiscard]] weft::device& through() const noexcept { return *device_; }

 private:
  weft::device* device_;
  wait_options options_;
  detail::copy_mark copy_;  // marks a child of fork(), which has no such thread
  std::atomic<bool> stops_{false};
  counter stopped_;
  std::thread thread_;
};

}  // namespace weft
