// Flushes: waiting until what was posted to a rank is complete, by a thread, a fiber (`device::flush`) or a coroutine
// (`run_loop::flush`).
#include <fmt/format.h>

#include <string>

#include "base/backoff.hpp"
#include "base/callback_scope.hpp"
#include "base/long_wait.hpp"
#include "base/this_suspender.hpp"
#include "core/api/checks.hpp"
#include "core/device/device_state.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/device.hpp"

namespace weft {

void device::flush(std::uint32_t peer) {
  core::runtime_state& state = *runtime_->state_;
  if (peer >= state.size()) core::refuse_rank("flush", peer, state.size());
  base::refuse_in_callback("flush");
  const auto describe = [](const void* of, std::string& into) {
    into += fmt::format(" to rank {}", *static_cast<const std::uint32_t*>(of));
  };
  // One true answer is kept: other fibers may post before this one runs again.
  bool is_through = false;
  const auto try_flush = [&] { return is_through = is_through || state.peers().try_flush(peer); };
  base::wait_note note{.call = "device::flush"};
  base::slow_wait listed{"device::flush", {describe, &peer}};
  for (base::backoff waiting; !try_flush();) {
    if (state_->progress()) {
      waiting.reset();
    } else if (!state.parking().suspend_fiber(note, *state_, state.own().barrier(), try_flush)) {
      base::yield_or_pause(waiting);
      listed.note(waiting);
    }
  }
}

void device::flush() {
  for (std::uint32_t rank = 0; rank < state_->rank_count(); ++rank) flush(rank);
}

}  // namespace weft
