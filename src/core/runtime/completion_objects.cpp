// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/completion_objects.hpp"

#include <fmt/format.h>

#include <chrono>

#include "base/assertion.hpp"
#include "base/backoff.hpp"
#include "base/callback_scope.hpp"
#include "base/clock.hpp"
#include "base/long_wait.hpp"
#include "base/misuse.hpp"
#include "base/this_suspender.hpp"
#include "core/operation/promise.hpp"
#include "core/runtime/runtime_state.hpp"
#include "core/runtime/unwinding.hpp"
#include "weft/error.hpp"

namespace weft::core {
namespace {

// How long another thread's handler may take where a handler destroys its object.
constexpr std::chrono::seconds own_signal_max{5};

// A signal that a thread has seen is about to end. Inside a callback it may be the one that the callback is part of:
// then the wait would have no end.
void wait_for_signals(const completion& gone) noexcept {
  const auto until = base::clock::now() + own_signal_max;
  base::slow_wait listed{"the destructor of a completion object, for the end of a signal"};
  for (base::backoff waiting; gone.outstanding() != 0;) {
    base::yield_or_pause(waiting);
    listed.note(waiting);
    if (base::callback_scope::is_inside() && base::clock::now() > until) {
      base::misuse(
          "a completion object is destroyed inside its own handler, perhaps as a static object by an exit() there");
    }
  }
}

}  // namespace

void completion_objects::end(runtime_state& runtime, const completion& gone) noexcept {
  if (runtime.is_copy()) return;  // its signals are its parent's
  unwinding::cancel_signals(runtime, gone);
  if (promise::open(gone) != 0) {
    base::misuse("a completion object is destroyed while operations that will signal it are under way");
  }
  if (gone.outstanding() != 0) wait_for_signals(gone);
  if (registrations::are_of(gone)) {
    base::misuse("a completion object is destroyed before its registration: declare the registration after the object");
  }
  // [object.gone] relaxed: as [object.made] says.
  [[maybe_unused]] const std::uint32_t before = count_.fetch_sub(1, std::memory_order_relaxed);
  WEFT_ASSERT_CHECKED(before != 0);
}

void completion_objects::refuse(const char* call) {
  throw error{errc::invalid_argument,
              fmt::format("{}: the completion object was made from another runtime than the device", call)};
}

}  // namespace weft::core
