// The steps of one call of progress, in order.
//
// Cost of a quiet call: the gate, one read each for the backlog, kept messages and hooks, one poll of each transport. A
// call that finds messages skips the hooks and the other transports, at most 63 times in a row.
#include <utility>

#include "base/fast_paths.hpp"
#include "base/misuse.hpp"
#include "core/device/device_state.hpp"
#include "core/protocol/advance.hpp"
#include "core/protocol/receive.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {
namespace {

// Of so many calls at least one polls all transports, however busy one of them is.
constexpr unsigned skips_max = 64;

// Of so many calls that have moved something, one looks for ranks that have ended.
constexpr unsigned moves_per_look = 1024;
static_assert(moves_per_look % skips_max == 0);  // such a call comes to `end_call`

}  // namespace

bool device_state::progress() noexcept {
  if (!gate_.try_enter()) [[unlikely]]
    return found_busy();
  if (!backlog_.is_empty() || runtime_->kept().has_ready()) [[unlikely]]
    return work_off();
  // Polls first the transport that moved something last; while it moves something, skips the others for a while.
  const unsigned arrived = busy_->poll(*this, arrivals_per_peer);
  if (arrived == 0) return poll_idle();
  const std::uint64_t number = counts_.next_move();
  if (number % skips_max == 0) [[unlikely]]
    return poll_others(arrived, 0);
  counts_.moved(arrived, number);
  gate_.leave();
  return true;
}

// Another thread is inside the gate, or, in a child of fork(), the parent has the device.
[[gnu::cold, gnu::noinline]] bool device_state::found_busy() noexcept {
  if (gate_.is_closed()) base::refuse_to_child("a device");
  counts_.found_busy();
  return false;
}

// A call that has work besides polling.
bool device_state::work_off() noexcept {
  const unsigned moved = advance_kept();
  return poll_others(busy_->poll(*this, arrivals_per_peer), moved);
}

// Does steps of the backlog, answers senders of messages that will not be received, and delivers kept messages.
unsigned device_state::advance_kept() noexcept {
  unsigned moved = advance_backlog();
  moved += receive::answer_all_unwanted(*this);
  return moved + runtime_->kept().deliver(*this);
}

// The rest of a call that has found nothing so far. Mostly nothing is found at all: then it only polls.
bool device_state::poll_idle() noexcept {
  for (endpoint*& other : idle_) {
    const unsigned arrived = other->poll(*this, arrivals_per_peer);
    if (arrived == 0) [[likely]]
      continue;
    std::swap(busy_, other);
    return poll_others(arrived, 0);
  }
  // What `end_call` and `look_elsewhere` would do here, without saving the registers that they use.
  if (base::has_fast_paths && hooks_.is_empty() && policy_ == progress_policy::local &&
      quiet_calls_ + 1 < quiet_calls_max) [[likely]] {
    ++quiet_calls_;
    counts_.quiet();
    gate_.leave();
    return false;
  }
  return end_call(0, 0);
}

// The rest of a call that may have found something: polls the other transports, then `end_call`.
bool device_state::poll_others(unsigned arrived, unsigned moved) noexcept {
  for (endpoint*& other : idle_) {
    const unsigned here = other->poll(*this, arrivals_per_peer);
    if (here != 0) std::swap(busy_, other);
    arrived += here;
  }
  return end_call(arrived, moved);
}

// Runs the user's hooks, then, if the call is quiet, visits other devices.
bool device_state::end_call(unsigned arrived, unsigned moved) noexcept {
  if (!hooks_.is_empty()) [[unlikely]]
    moved += hooks_.run(*this);
  moved += arrived;
  if (moved == 0) {
    counts_.quiet();
    return look_elsewhere();
  }
  if (counts_.next_move() % moves_per_look == 0) static_cast<void>(runtime_->peer_ends().look(*this));
  counts_.moved(arrived);
  quiet_calls_ = 0;
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
