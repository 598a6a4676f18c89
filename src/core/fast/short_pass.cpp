// SPDX-License-Identifier: BSD-3-Clause
// The shortcut of a call of progress. The general twin: `progress::pass` (core/progress/progress.cpp).
//
// A call that receives messages from the transport that moved something last skips the hooks and the other transports,
// at most 63 times in a row. A quiet call of a device that polls no others only polls its own endpoints, and saves no
// registers.
#include "base/fast_paths.hpp"
#include "core/device/device_state.hpp"
#include "core/progress/progress.hpp"
#include "core/runtime/matching_store.hpp"

namespace weft::core {
namespace short_pass {
namespace {

// Functions of their own, so that `progress` saves no registers for them.

// The last lines of `pass`: the other transports, if one has moved something, hooks, and the end.
[[gnu::noinline]] bool end(device_state& dev, unsigned arrived) noexcept {
  if (arrived != 0) arrived += dev.endpoints().poll_others(dev);
  const unsigned moved = dev.hooks().is_empty() ? 0 : dev.hooks().run(dev);
  return moved + arrived == 0 ? dev.others().end_quiet_call() : progress::end_moved(dev, arrived);
}

// The rest of a call that has found nothing so far.
[[gnu::noinline]] bool poll_idle(device_state& dev) noexcept {
  if (const unsigned arrived = dev.endpoints().poll_until_busy(dev); arrived != 0) [[unlikely]]
    return end(dev, arrived);
  quiet_calls& quiet = dev.others().quiet();
  if (dev.hooks().is_empty() && dev.others().policy() == progress_policy::local && !quiet.is_next_long()) [[likely]] {
    quiet.count();
    dev.counts().quiet();
    dev.gate().leave();
    return false;
  }
  return end(dev, 0);
}

}  // namespace
}  // namespace short_pass

bool device_state::progress() noexcept {
  if (!gate_.try_enter()) [[unlikely]]
    return progress::found_busy(*this);
  if (!base::has_fast_paths || !backlog_.is_empty() || matching_->kept().has_ready()) [[unlikely]]
    return progress::pass(*this);
  const unsigned arrived = endpoints_.poll_busy(*this);
  if (arrived == 0) return short_pass::poll_idle(*this);
  const std::uint64_t number = counts_.next_move();
  if (number % progress::skips_max == 0) [[unlikely]]
    return short_pass::end(*this, arrived);
  counts_.moved(arrived, number);
  gate_.leave();
  return true;
}

}  // namespace weft::core
