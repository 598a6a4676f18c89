// SPDX-License-Identifier: BSD-3-Clause
// Which device runs the innermost callback of the calling thread: a completion object's signal, a hook or a node of a
// graph; and the room that this callback has reserved for a reply.
//
// Cost of a callback: three stores, two loads and a test, all on the thread's own stack and line.
#pragma once

#include <utility>

#include "base/of_fiber.hpp"

namespace weft::core {

class device_state;
class kept_reply;

/// Lies on the stack beside each `base::callback_scope` that a device runs. **Threads**: no fiber switch happens during
/// its life.
class running_callback {
 public:
  explicit running_callback(device_state& dev) noexcept
      : outer_{std::exchange(base::words_of_fiber.running, this)}, device_{&dev} {}
  ~running_callback() {
    base::words_of_fiber.running = outer_;
    if (reserved_ != nullptr) [[unlikely]]
      release();
  }
  running_callback(const running_callback&) = delete;
  running_callback& operator=(const running_callback&) = delete;

  /// Null outside of callbacks.
  [[nodiscard]] static running_callback* innermost() noexcept {
    return static_cast<running_callback*>(base::words_of_fiber.running);
  }

  [[nodiscard]] device_state& device() const noexcept { return *device_; }
  /// Room for a reply that can't be sent at once (protocol/reply.cpp); null: none is reserved.
  [[nodiscard]] kept_reply*& reserved() noexcept { return reserved_; }

 private:
  void release() noexcept;

  void* outer_;
  device_state* device_;
  kept_reply* reserved_ = nullptr;
};

}  // namespace weft::core
