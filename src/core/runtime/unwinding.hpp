// SPDX-License-Identifier: BSD-3-Clause
// Objects that are destroyed because an exception leaves their scope, while operations are under way: a wrong use else,
// which ends the process. Here the operations are cancelled if they can be, and the others are waited for, so that the
// exception reaches its handler.
#pragma once

#include <chrono>

#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "base/exception_text.hpp"
#include "base/this_suspender.hpp"
#include "weft/completion.hpp"

namespace weft::core {
class device_state;
class runtime_state;
struct engine_state;
}  // namespace weft::core

namespace weft::core::unwinding {

/// One call of progress by `dev` and on each other shared device.
bool progress_everywhere(device_state& dev) noexcept;

/// How long an object waits for operations that can't be cancelled.
inline constexpr std::chrono::seconds wait_max{1};

/// Repeats `step()` and makes progress, by `dev` and on shared devices, until `step()` returns true. False: the
/// time is over.
template <class Step>
bool wait(device_state& dev, Step&& step) noexcept {
  const auto until = base::clock::now() + wait_max;
  for (base::backoff waiting; !step();) {
    if (base::clock::now() > until) return false;
    if (progress_everywhere(dev)) {
      waiting.reset();
    } else {
      base::yield_or_pause(waiting);
    }
  }
  return true;
}

/// Implements `completion::end_signals`. `make_room`: null if the object is never full.
void end_signals(runtime_state& runtime, completion& object, void (*make_room)(completion& full)) noexcept;
/// Called in the destructor of the base, where the object can't be signalled any more: only cancels.
void cancel_signals(runtime_state& runtime, const completion& object) noexcept;
/// Cancels the receives that wait in `engine`, and the sends to a receiver-first one, and signals them.
void end_posted(runtime_state& runtime, engine_state& engine) noexcept;

}  // namespace weft::core::unwinding
