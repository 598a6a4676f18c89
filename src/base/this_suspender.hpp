// The suspender of the calling thread, which decides how it waits (weft/suspender.hpp).
#pragma once

#include "base/backoff.hpp"
#include "base/of_fiber.hpp"
#include "base/this_wait.hpp"
#include "weft/suspender.hpp"

namespace weft::base {

[[nodiscard]] inline suspender*& this_suspender() noexcept {
  static thread_local constinit suspender* by = nullptr;  // of the thread
  return by;
}

/// Where the caller is a fiber outside of callbacks (base/callback_scope.hpp): lets others run, and answers true. Not
/// while it holds what they may want.
bool yield_to_fibers() noexcept;

/// One step of a wait that polls: a fiber lets others run, a thread pauses. Not while it holds what others may want.
inline void yield_or_pause(backoff& waiting) noexcept {
  if (!yield_to_fibers()) waiting.pause();
}

}  // namespace weft::base
