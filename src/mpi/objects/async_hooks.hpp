// SPDX-License-Identifier: BSD-3-Clause
// Hooks of the program (MPIX_Async_start): each is a hook of a device, until its poll function answers that it is done.
#pragma once

#include <atomic>
#include <cstddef>

#include "mpix.h"
#include "weft/hook.hpp"

namespace weft {
class device;
}

namespace weft::mpi {

class async_hooks;

/// A hook. The program knows it as an MPIX_Async_thing, while its poll function runs.
class async_hook {
 public:
  async_hook(async_hooks& owner, MPIX_Async_poll_function* poll, void* state) noexcept
      : owner_{&owner}, poll_{poll}, state_{state} {}

  [[nodiscard]] hook_answer run() noexcept;
  [[nodiscard]] void* state() const noexcept { return state_; }

 private:
  async_hooks* owner_;
  MPIX_Async_poll_function* poll_;
  void* state_;
};

/// The hooks of a rank. **Threads**: any.
class async_hooks {
 public:
  /// A hook that runs from the next call of progress on. **Errors**: std::bad_alloc.
  void start(weft::device& device, MPIX_Async_poll_function* poll, void* state);
  /// How many have not ended.
  [[nodiscard]] std::size_t open() const noexcept {
    // [async_hooks.open] acquire <- [async_hooks.end]: what the poll functions have done.
    return open_.load(std::memory_order_acquire);
  }
  /// Counts the end of a hook.
  void end() noexcept {
    // [async_hooks.end] release -> [async_hooks.open]: what its poll function has done.
    open_.fetch_sub(1, std::memory_order_release);
  }

 private:
  std::atomic<std::size_t> open_{0};
};

}  // namespace weft::mpi
