// The suspender of the calling thread, which decides how it waits (weft/suspender.hpp).
#pragma once

#include "base/backoff.hpp"
#include "base/this_wait.hpp"
#include "weft/suspender.hpp"

namespace weft::base {

[[nodiscard]] inline suspender*& this_suspender() noexcept {
  static thread_local constinit suspender* by = nullptr;
  return by;
}

/// Where the caller is a fiber: lets others run, and answers true. Not while it holds what they may want.
inline bool yield_to_fibers() noexcept {
  suspender* const by = this_suspender();
  void* const me = by == nullptr ? nullptr : by->current();
  if (me == nullptr) [[likely]]
    return false;
  this_wait() = {.call = "device::wait, flush, barrier or the end of an object", .is_poll = true};
  by->resume(me);
  by->suspend();
  return true;
}

/// One step of a wait that polls: a fiber lets others run, a thread pauses. Not while it holds what others may want.
inline void yield_or_pause(backoff& waiting) noexcept {
  if (!yield_to_fibers()) waiting.pause();
}

}  // namespace weft::base
