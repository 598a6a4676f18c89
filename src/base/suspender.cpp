// SPDX-License-Identifier: BSD-3-Clause
#include "weft/suspender.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/callback_scope.hpp"
#include "base/of_fiber.hpp"
#include "base/this_suspender.hpp"
#include "weft/detail/fiber_wait.hpp"
#include "weft/error.hpp"

namespace weft {

std::atomic<std::uintptr_t> detail::fresh_wait_slot{never_awaited};

suspender* use_suspender(suspender* chosen) noexcept {
  // [hint] read by the fibers of this thread; what others begin before they see it is awaited as by a thread.
  if (chosen != nullptr) detail::fresh_wait_slot.store(0, std::memory_order_relaxed);
  base::words_of_fiber.are_foreign = chosen != nullptr;
  return std::exchange(base::this_suspender(), chosen);
}

namespace base {

// None of these is inlined: a fiber that calls two of them may be in another thread the second time.

[[gnu::noinline]] suspender* current_suspender() noexcept {
  return callback_scope::is_inside() ? nullptr : this_suspender();
}

[[gnu::noinline]] void refuse_in_callback(const char* call) {
  if (!callback_scope::is_inside()) [[likely]]
    return;
  throw error{errc::invalid_state,
              fmt::format("{}: called inside a handler, a hook, a node of a graph or another function that the library "
                          "calls; others wait for its return, so it must not wait: let it note what is to be done, and "
                          "wait outside of it",
                          call)};
}

[[gnu::noinline]] void suspend_fiber(const wait_note& why) noexcept {
  this_wait() = why;
  suspend_by(*this_suspender());
}

[[gnu::noinline]] void yield_fiber(const wait_note& why) noexcept {
  suspender& suspender = *this_suspender();
  suspender.resume(suspender.current());
  this_wait() = why;
  suspend_by(suspender);
}

[[gnu::noinline]] bool yield_to_fibers() noexcept {
  suspender* const suspender = current_suspender();
  if (suspender == nullptr || suspender->current() == nullptr) [[likely]]
    return false;
  yield_fiber({.call = "device::wait, flush, barrier or the end of an object", .is_poll = true});
  return true;
}

}  // namespace base
}  // namespace weft
