// Flushes: waiting until what was posted to a rank is complete, by a thread, a fiber (`device::flush`) or a coroutine
// (`run_loop::flush`).
#include <fmt/format.h>

#include "base/backoff.hpp"
#include "base/this_suspender.hpp"
#include "core/api/refusals.hpp"
#include "core/device/device_state.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/device.hpp"

namespace weft {

void core::runtime_state::wake_flushes() noexcept { signalled(barrier_.get()); }

bool core::runtime_state::try_flush(std::uint32_t peer) {
  const bool is_through = is_flushed(peer);
  refuse_if_cut_off("flush", peer);
  if (!is_through) return false;
  if (const std::uint32_t failures = take_failures(peer); failures != 0) {
    throw error{errc::region_refused,
                fmt::format("flush: rank {} refused {} puts or atomics that had answered done: their region was "
                            "withdrawn, or did not reach that far",
                            peer, failures)};
  }
  return true;
}

void device::flush(std::uint32_t peer) {
  core::runtime_state& state = *runtime_->state_;
  if (peer >= state.size()) core::refuse_rank("flush", peer, state.size());
  state.refuse_inside_handler("flush", *state_);
  for (base::backoff waiting; !state.try_flush(peer);) {
    if (state_->progress()) {
      waiting.reset();
    } else {
      base::give_way(waiting);
    }
  }
}

void device::flush() {
  for (std::uint32_t rank = 0; rank < state_->rank_count(); ++rank) flush(rank);
}

}  // namespace weft
