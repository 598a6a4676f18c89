// SPDX-License-Identifier: BSD-3-Clause
// Hooks of the program (MPIX_Async_start). One hook of a device runs all of them, from an array: a device's hook has a
// block of memory of its own and a virtual call, beside which a poll function of the program may be short.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include "mpix.h"
#include "weft/hook.hpp"

namespace weft {
class device;
}

namespace weft::mpi {

/// A hook. The program knows it as an MPIX_Async_thing, while its poll function runs.
struct async_hook {
  MPIX_Async_poll_function* poll;
  void* state;
};

/// The hooks of a rank on one device. **Threads**: any.
class async_hooks {
 public:
  /// The device has to live until all hooks have ended, or nothing makes progress on it any more.
  explicit async_hooks(weft::device& device) noexcept : device_{device} {}

  /// A hook that runs from the next call of progress on. **Errors**: std::bad_alloc.
  void start(const async_hook& made);
  /// How many have not ended.
  [[nodiscard]] std::size_t open() const noexcept {
    // [async_hooks.open] acquire <- [async_hooks.end]: what the poll functions have done.
    return open_.load(std::memory_order_acquire);
  }

 private:
  hook_answer run() noexcept;
  void take_added() noexcept;
  // Calls each, and removes each that has ended. Returns the number of these.
  std::size_t poll_all() noexcept;
  // Whether there is no hook, so that the device's may end.
  bool try_end() noexcept;

  weft::device& device_;
  std::vector<async_hook> running_;  // inside the device's gate, in the order of their starts
  std::mutex mutex_;                 // guards the next two
  std::vector<async_hook> added_;    // in their order, behind the others
  bool has_hook_ = false;
  std::atomic<bool> has_added_{false};
  std::atomic<std::size_t> open_{0};
};

}  // namespace weft::mpi
