// One call of progress: `device_state::pass` shows its steps in order.
//
// Cost of a quiet call: the gate, one read each for the backlog, kept messages and hooks, one poll of each transport.
// `device_state::progress` enters the gate and takes a shortcut in common calls (core/fast/short_pass.cpp).
#include <utility>

#include "base/misuse.hpp"
#include "core/device/device_state.hpp"
#include "core/protocol/advance.hpp"
#include "core/protocol/receive.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {
namespace {

// Of so many calls that have moved something, one looks for ranks that have ended.
constexpr unsigned moves_per_look = 1024;
static_assert(moves_per_look % device_state::skips_max == 0);  // `progress` leaves such a call to `end_moved`

}  // namespace

// Called inside the gate, which it leaves.
bool device_state::pass() noexcept {
  unsigned moved = advance_kept();
  unsigned arrived = busy_->poll(*this, arrivals_per_peer);
  arrived += poll_others();  // after it, as this may change which one is busy
  if (!hooks_.is_empty()) moved += hooks_.run(*this);
  return moved + arrived == 0 ? look_elsewhere() : end_moved(arrived);
}

// Another thread is inside the gate, or, in a child of fork(), the parent has the device.
[[gnu::cold, gnu::noinline]] bool device_state::found_busy() noexcept {
  if (gate_.is_closed()) base::refuse_to_child("a device");
  counts_.found_busy();
  return false;
}

// Does steps of the backlog, answers senders of messages that will not be received, and delivers kept messages.
unsigned device_state::advance_kept() noexcept {
  if (backlog_.is_empty() && !runtime_->kept().has_ready()) return 0;
  unsigned moved = advance_backlog();
  moved += receive::answer_all_unwanted(*this);
  return moved + runtime_->kept().deliver(*this);
}

// Polls each transport but `busy_`, which becomes the last one of them that has moved something.
unsigned device_state::poll_others() noexcept {
  unsigned arrived = 0;
  for (endpoint*& other : idle_) {
    const unsigned here = other->poll(*this, arrivals_per_peer);
    if (here != 0) std::swap(busy_, other);
    arrived += here;
  }
  return arrived;
}

// The end of a call that has moved something.
bool device_state::end_moved(unsigned arrived) noexcept {
  if (counts_.next_move() % moves_per_look == 0) static_cast<void>(runtime_->peer_ends().look(*this));
  counts_.moved(arrived);
  quiet_.reset();
  gate_.leave();
  return true;
}

unsigned device_state::poll_all() noexcept {
  unsigned arrived = 0;
  for (const auto& each : endpoints_) arrived += each->poll(*this, arrivals_per_peer);
  return arrived;
}

stillness device_state::look_before_sleep() noexcept {
  if (!gate_.try_enter()) return stillness::busy;
  was_full_ = false;
  unsigned moved = poll_all();
  if (moved != 0) counts_.moved(moved);
  moved += runtime_->peer_ends().look(*this);
  const bool has_retries = backlog_.is_just(retries_.in_backlog());
  const bool has_steps = !has_retries && !backlog_.is_empty();
  const bool is_busy = moved != 0 || has_steps || runtime_->kept().has_ready() || !hooks_.is_empty();
  const bool has_refused = was_full_ || has_retries;
  gate_.leave();
  if (is_busy) return stillness::busy;
  return has_refused ? stillness::waiting : stillness::quiet;
}

unsigned device_state::advance_backlog() noexcept {
  unsigned moved = 0;
  for (operation_state* operation = backlog_.take_all(); operation != nullptr;) {
    operation_state* const behind = operation->behind;
    const std::uint64_t before = operation->copying.moved.load(std::memory_order_relaxed);  // [own] out of the backlog
    if (advance(*this, *operation)) {
      counts_.worked_off();
      ++moved;
    } else {
      moved +=
          operation->copying.moved.load(std::memory_order_relaxed) != before;  // [own] still, as it is not complete
      backlog_.add(*operation);
    }
    operation = behind;
  }
  return moved;
}

}  // namespace weft::core
