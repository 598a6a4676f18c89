// SPDX-License-Identifier: BSD-3-Clause
// The suspender of the calling thread, which decides how it waits (weft/suspender.hpp).
#pragma once

#include "base/backoff.hpp"
#include "base/of_fiber.hpp"
#include "base/this_wait.hpp"
#include "weft/suspender.hpp"

namespace weft::base {

[[nodiscard]] inline suspender*& this_suspender() noexcept {
  static thread_local constinit suspender* current = nullptr;  // variable of the thread
  return current;
}

/// Suspends the calling fiber by the suspender of the thread that runs it now, and lets other fibers run. Out of line,
/// as the fiber of another scheduler may go on in another thread: inlined into a loop, the compiler would keep the
/// address of the first thread's variables.
void suspend_fiber(const wait_note& why) noexcept;
void yield_fiber(const wait_note& why) noexcept;

/// If the caller is a fiber outside of callbacks (base/callback_scope.hpp): lets others run, and answers true. Not
/// while it holds what they may want.
bool yield_to_fibers() noexcept;

/// One step of a wait that polls: a fiber lets others run, a thread pauses. Not while it holds what others may want.
inline void yield_or_pause(backoff& waiting) noexcept {
  if (!yield_to_fibers()) waiting.pause();
}

}  // namespace weft::base
