// SPDX-License-Identifier: BSD-3-Clause
// Helpers of lock-free parts: memory, the lock of their slow paths, and notes to the explorer.
//
// This is for the real machine's atomics; the model tests specialize it for their own.
#pragma once

#include <cstddef>
#include <mutex>

#include "weft/detail/atomics.hpp"
#include "weft/detail/zeroed_memory.hpp"

namespace weft::detail {

template <class Atomics>
struct atomics_support {
  /// The lock of slow paths (growth, registration); fast paths take none.
  using mutex = std::mutex;

  /// Zero bytes, aligned to a cache line; large pieces take no memory until used. nullptr if there is no memory left.
  [[nodiscard]] static void* allocate_zeroed(std::size_t bytes) noexcept { return detail::allocate_zeroed(bytes); }

  /// Gives memory of `allocate_zeroed` back, with its size; nullptr is ignored.
  static void release_zeroed(void* memory, std::size_t bytes) noexcept { detail::release_zeroed(memory, bytes); }

  /// Says that another thread has published this object, so that it can't be null. The explorer checks it: bugs that it
  /// plants can make it null.
  static void must_exist(const void* /*object*/) noexcept {}

  /// Says that this thread uses the result of its last read of the atomics in these bytes, also a speculative or
  /// relaxed read: the thread that writes them next must come after it. Nothing to do here; the explorer checks it.
  static void confirm_read(const void* /*shared*/, std::size_t /*bytes*/) noexcept {}
};

}  // namespace weft::detail
