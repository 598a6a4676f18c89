// The shortcut of a call of progress. The general twin: `device_state::pass` (core/progress/progress.cpp).
//
// A call that receives messages from the transport that moved something last skips the hooks and the other transports,
// at most 63 times in a row. A quiet call of a device that visits no others only polls, and saves no registers.
#include <utility>

#include "base/fast_paths.hpp"
#include "core/device/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {

bool device_state::progress() noexcept {
  if (!gate_.try_enter()) [[unlikely]]
    return found_busy();
  if (!base::has_fast_paths || !backlog_.is_empty() || runtime_->kept().has_ready()) [[unlikely]]
    return pass();
  const unsigned arrived = busy_->poll(*this, arrivals_per_peer);
  if (arrived == 0) return poll_idle();
  const std::uint64_t number = counts_.next_move();
  if (number % skips_max == 0) [[unlikely]]
    return end_short(arrived);
  counts_.moved(arrived, number);
  gate_.leave();
  return true;
}

// The rest of a call that has found nothing so far.
bool device_state::poll_idle() noexcept {
  for (endpoint*& other : idle_) {
    const unsigned arrived = other->poll(*this, arrivals_per_peer);
    if (arrived == 0) [[likely]]
      continue;
    std::swap(busy_, other);
    return end_short(arrived);
  }
  if (hooks_.is_empty() && policy_ == progress_policy::local && !quiet_.is_next_long()) [[likely]] {
    quiet_.count();
    counts_.quiet();
    gate_.leave();
    return false;
  }
  return end_short(0);
}

// The last lines of `pass`: the other transports, if one has moved something, hooks, and the end.
bool device_state::end_short(unsigned arrived) noexcept {
  if (arrived != 0) arrived += poll_others();
  const unsigned moved = hooks_.is_empty() ? 0 : hooks_.run(*this);
  return moved + arrived == 0 ? look_elsewhere() : end_moved(arrived);
}

}  // namespace weft::core
