// SPDX-License-Identifier: BSD-3-Clause
// A thread that sleeps in place of the user's thread, which waits for a descriptor in an event loop.
//
// Cost: nothing for a message by itself. Arming takes a fence in every core, a last look, and a wake-up of the sleeping
// thread. A message wakes that thread, which writes the descriptor.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/descriptor.hpp"
#include "core/device/device_state.hpp"
#include "core/wait/parking.hpp"

namespace weft::core {

class runtime_state;

class descriptor_state {
 public:
  /// **Errors**: transport_failed, std::system_error.
  descriptor_state(runtime_state& owner, device_state& dev);
  ~descriptor_state();

  descriptor_state(const descriptor_state&) = delete;
  descriptor_state& operator=(const descriptor_state&) = delete;

  [[nodiscard]] int fd() const noexcept { return event_.get(); }
  /// Whether this is the copy in a child of fork(), which has no such thread; the condition variable can't be
  /// destroyed.
  [[nodiscard]] bool is_copy() const noexcept;
  /// Implements `wait_descriptor::arm`.
  [[nodiscard]] bool arm();

 private:
  void run() noexcept;
  [[nodiscard]] static bool has_changed(const parking::last_look& since) noexcept;
  void wake_up() noexcept;
  void set_readable() const noexcept;
  void set_unreadable() const noexcept;

  runtime_state& owner_;
  device_state& device_;
  base::descriptor event_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool armed_ = false;
  bool stops_ = false;
  parking::last_look since_{};
  std::optional<parking::seat> seat_;  // while armed

  std::thread thread_;
};

}  // namespace weft::core
