// SPDX-License-Identifier: BSD-3-Clause
// One call of progress: `pass` shows its steps in order.
//
// Cost of a quiet call: the gate, one read each for the backlog, kept messages and hooks, one poll of each transport.
// `device_state::progress` enters the gate and takes a shortcut in common calls (core/fast/short_pass.cpp).
#include "core/progress/progress.hpp"

#include "base/assertion.hpp"
#include "base/misuse.hpp"
#include "core/protocol/advance.hpp"
#include "core/protocol/numbered_credits.hpp"
#include "core/protocol/receive.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::progress {
namespace {

// One of so many calls that have moved something looks for ranks that have ended.
constexpr unsigned moves_per_look = 1024;
static_assert(moves_per_look % skips_max == 0);  // the shortcut leaves such a call to `end_moved`

unsigned advance_backlog(device_state& dev) noexcept {
  unsigned moved = 0;
  dev.backlog().each([&](operation_state& operation) {
    const std::uint64_t before = operation.copying.moved.load(std::memory_order_relaxed);  // [own] out of the backlog
    if (advance(dev, operation)) {
      dev.counts().worked_off();
      ++moved;
      return true;
    }
    moved += operation.copying.moved.load(std::memory_order_relaxed) != before;  // [own] still, as it is not complete
    return false;
  });
  return moved;
}

// Does steps of the backlog, answers senders of messages that will not be received, and delivers kept messages.
unsigned advance_kept(device_state& dev) noexcept {
  if (dev.backlog().is_empty() && !dev.matching().kept().has_ready()) return 0;
  unsigned moved = advance_backlog(dev);
  if (dev.matching().kept().has_order_rest()) [[unlikely]]
    moved += numbered_credits::continue_rest(dev);
  moved += receive::answer_all_unwanted(dev);
  return moved + dev.matching().kept().deliver(dev);
}

// The end of a call by a thread of another device, which has moved `moved`, with `arrived` messages among it.
passed end_for_other(device_state& dev, unsigned moved, unsigned arrived) noexcept {
  if (moved != 0) {
    dev.counts().moved(arrived);
  } else {
    dev.counts().quiet();
  }
  const auto calls = static_cast<std::uint32_t>(dev.counts().calls());
  dev.gate().leave();
  return {moved, calls};
}

}  // namespace

bool pass(device_state& dev) noexcept {
  WEFT_ASSERT_CHECKED(dev.gate().is_inside());
  unsigned moved = advance_kept(dev);
  unsigned arrived = dev.endpoints().poll_busy(dev);
  arrived += dev.endpoints().poll_others(dev);  // polled after it, as this may change which one is busy
  if (!dev.hooks().is_empty()) moved += dev.hooks().run(dev);
  return moved + arrived == 0 ? dev.others().end_quiet_call() : end_moved(dev, arrived);
}

[[gnu::cold, gnu::noinline]] bool found_busy(device_state& dev) noexcept {
  if (dev.gate().is_closed()) base::refuse_to_child("a device");
  dev.counts().found_busy();
  return false;
}

bool end_moved(device_state& dev, unsigned arrived) noexcept {
  const std::uint64_t number = dev.counts().next_move();
  peer_ends& ends = dev.runtime().peer_ends();
  // Looks follow each other soon while a rank is known to have ended and is not settled.
  const bool looks = number % moves_per_look == 0 || (number % skips_max == 0 && ends.awaits_devices());
  if (looks) static_cast<void>(ends.look(dev));
  dev.counts().moved(arrived);
  dev.others().quiet().reset();
  dev.gate().leave();
  if (looks) static_cast<void>(dev.others().poll_for_ended());
  return true;
}

namespace {

// What one call has moved for the thread of another device.
struct counts_for_other {
  unsigned moved;
  unsigned arrived;
};
[[gnu::always_inline]] inline counts_for_other advance_for_other(device_state& dev) noexcept {
  WEFT_ASSERT_CHECKED(dev.gate().is_inside() && dev.marks().is_shared());
  unsigned moved = advance_kept(dev);
  const unsigned arrived = dev.endpoints().poll_all(dev);
  if (!dev.hooks().is_empty()) moved += dev.hooks().run(dev);
  dev.runtime().peer_ends().look_for_other(dev);
  return {moved + arrived, arrived};
}

}  // namespace

passed pass_for_other(device_state& dev) noexcept {
  const counts_for_other counts = advance_for_other(dev);
  return end_for_other(dev, counts.moved, counts.arrived);
}

stillness look_for_other(device_state& dev) noexcept {
  const counts_for_other counts = advance_for_other(dev);
  const bool has_more = !dev.hooks().is_empty() || !dev.backlog().is_empty() || dev.matching().kept().has_work();
  if (end_for_other(dev, counts.moved, counts.arrived).moved != 0) return stillness::busy;
  return has_more ? stillness::waiting : stillness::quiet;
}

passed pass_for_ended(device_state& dev) noexcept {
  WEFT_ASSERT_CHECKED(dev.gate().is_inside() && dev.marks().is_shared());
  const unsigned moved = advance_kept(dev);
  const unsigned arrived = dev.endpoints().poll_all(dev);
  dev.runtime().peer_ends().note_polled(dev, !dev.backlog().is_empty());
  return end_for_other(dev, moved + arrived, arrived);
}

}  // namespace weft::core::progress

namespace weft::core {

stillness device_state::look_before_sleep() noexcept {
  if (!gate_.try_enter()) return stillness::busy;
  static_cast<void>(take_full());
  unsigned moved = endpoints_.poll_all(*this);
  if (moved != 0) counts_.moved(moved);
  moved += runtime_->peer_ends().look(*this);
  const bool has_entries = backlog_.has_just_entries();
  const bool has_steps = !has_entries && !backlog_.is_empty();
  const bool is_busy = moved != 0 || has_steps || matching_->kept().has_work() || !hooks_.is_empty();
  const bool has_refused = take_full() || has_entries || matching_->kept().has_ready();
  gate_.leave();
  if (others_.poll_for_ended() != 0 || is_busy) return stillness::busy;
  return has_refused ? stillness::waiting : stillness::quiet;
}

}  // namespace weft::core
