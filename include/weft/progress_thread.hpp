// A thread that makes progress for those who don't.
#pragma once

#include <atomic>
#include <thread>

#include "weft/counter.hpp"
#include "weft/device.hpp"

namespace weft {

/// Makes progress on a device until it is destroyed, and sleeps while there is nothing to do. Programs that compute for
/// long between two calls of `progress()` stay responsive with it; those that poll anyway are quicker without.
///
/// Handlers and hooks of the device run in this thread, too. While the device has hooks it yields instead of sleeping.
/// **Source**: yan2025-lci, 4.2.7; zhou2024, 2.4.
class progress_thread {
 public:
  /// `through` outlives it; `options` say how it waits. **Blocking**: briefly. **Errors**: `invalid_argument` for a
  /// device that isn't shared; `std::system_error` where there is no thread.
  explicit progress_thread(device& through, const wait_options& options = {});

  /// **Blocking**: until a call of progress that is under way is over. Not inside a handler.
  ~progress_thread();

  progress_thread(const progress_thread&) = delete;
  progress_thread& operator=(const progress_thread&) = delete;

  /// How it waits. For this and the next: **Threads**: any.
  [[nodiscard]] const wait_options& options() const noexcept { return options_; }
  /// The device on which it makes progress.
  [[nodiscard]] device& through() const noexcept { return *through_; }

 private:
  device* through_;
  wait_options options_;
  int process_;  // that has the thread: a child of fork() has not
  std::atomic<bool> stops_{false};
  counter stopped_;
  std::thread thread_;
};

}  // namespace weft
