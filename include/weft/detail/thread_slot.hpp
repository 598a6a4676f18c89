// SPDX-License-Identifier: BSD-3-Clause
// A small number for each living thread, so that per-thread parts of a shared structure are an array.
//
// Cost: one thread-local read after a thread's first call; the first call takes a lock once.
#pragma once

#include <cstdint>

namespace weft::detail {

/// Threads beyond this many at once have no slot; every structure that uses slots has a slower way for them.
inline constexpr std::uint32_t thread_slots_max = 512;

/// Stands for the slot of a thread that has none.
inline constexpr std::uint32_t no_thread_slot = thread_slots_max;

/// Stands for a slot that the thread has not asked for yet.
inline constexpr std::uint32_t unknown_thread_slot = no_thread_slot + 1;

/// Values of `cached_thread_slot`: an array of so many needs no check of the index.
inline constexpr std::uint32_t thread_slot_values = unknown_thread_slot + 1;

/// Variable of the thread. Initial-exec: otherwise position-independent code would call a function here, and save
/// registers around the call.
[[gnu::tls_model("initial-exec")]] inline thread_local constinit std::uint32_t cached_thread_slot = unknown_thread_slot;

/// Takes a slot for the calling thread; given back when the thread ends. Defined in src/base/thread_slot.cpp.
std::uint32_t acquire_thread_slot() noexcept;

/// The calling thread's slot, below `thread_slots_max`, or `no_thread_slot`. No two living threads share one.
inline std::uint32_t this_thread_slot() noexcept {
  const std::uint32_t slot = cached_thread_slot;
  return slot != unknown_thread_slot ? slot : acquire_thread_slot();
}

/// The same for a library that hides the symbols of these headers, and so has a `cached_thread_slot` of its own, which
/// no function of Weft's sets.
std::uint32_t find_thread_slot() noexcept;

}  // namespace weft::detail
