// What happens in one call of progress, in order.
//
// Cost of a quiet call: the gate, one read each for the backlog, unexpected messages and hooks, one poll of each
// transport. A call that finds messages does without the hooks and the other transports, 63 times at most.
#include "core/device_state.hpp"
#include "core/runtime_state.hpp"

namespace weft::core {
namespace {

// Messages taken from one peer before the next one has its turn.
constexpr unsigned arrivals_per_peer = 16;

// After so many quiet calls in a row, a device looks after device 0 once: messages for a device that is not there yet,
// or no longer, go there, and a program that polls only devices of its own would never see them.
constexpr unsigned quiet_calls_max = 64;

// Polls of the busiest transport alone, before the others have their turn.
constexpr unsigned skips_max = 64;

}  // namespace

bool device_state::progress() noexcept {
  if (!gate_.try_enter()) [[unlikely]]
    return found_busy();
  if (!backlog_.is_empty() || runtime_->unexpected().has_ready()) [[unlikely]]
    return work_off();
  // The transport that moved something last comes first, and while it does the others are skipped, for a while.
  const unsigned arrived = busy_->poll(*this, arrivals_per_peer);
  if (arrived == 0 || ++skipped_ == skips_max) return poll_others(arrived, 0);
  counts_.moved(arrived);
  gate_.leave();
  return true;
}

[[gnu::cold]] bool device_state::found_busy() noexcept {
  counts_.found_busy();
  return false;
}

// A call with something to do besides polling.
bool device_state::work_off() noexcept {
  unsigned moved = advance_backlog();
  moved += runtime_->unexpected().deliver(*this);
  return poll_others(busy_->poll(*this, arrivals_per_peer), moved);
}

// The rest of a call that has found little to do: the other transports, the user's hooks, then now and then the default
// device.
bool device_state::poll_others(unsigned arrived, unsigned moved) noexcept {
  skipped_ = 0;
  const endpoint* const polled = busy_;
  for (const auto& other : endpoints_) {
    if (other.get() == polled) continue;
    const unsigned here = other->poll(*this, arrivals_per_peer);
    if (here != 0) busy_ = other.get();
    arrived += here;
  }
  if (!hooks_.is_empty()) [[unlikely]]
    moved += hooks_.run();
  moved += arrived;
  if (moved != 0) {
    counts_.moved(arrived);
  } else {
    counts_.quiet();
  }
  quiet_calls_ = moved != 0 ? 0 : quiet_calls_ + 1;
  const bool look_elsewhere = index_ != 0 && quiet_calls_ == quiet_calls_max;
  if (look_elsewhere) quiet_calls_ = 0;
  gate_.leave();
  if (look_elsewhere) return runtime_->default_state().progress();
  return moved != 0;
}

stillness device_state::look_before_sleep() noexcept {
  if (!gate_.try_enter()) return stillness::busy;
  has_refused_ = false;
  unsigned moved = 0;
  for (const auto& each : endpoints_) moved += each->poll(*this, arrivals_per_peer);
  if (moved != 0) counts_.moved(moved);
  const bool is_busy = moved != 0 || !backlog_.is_empty() || runtime_->unexpected().has_ready() || !hooks_.is_empty();
  const bool has_refused = has_refused_;
  gate_.leave();
  if (is_busy) return stillness::busy;
  return has_refused ? stillness::waiting : stillness::quiet;
}

unsigned device_state::advance_backlog() noexcept {
  unsigned moved = 0;
  for (operation_state* operation = backlog_.take_all(); operation != nullptr;) {
    operation_state* const behind = operation->behind;
    const std::uint64_t before = operation->moved.load(std::memory_order_relaxed);  // [stat]
    if (advance(*operation)) {
      counts_.worked_off();
      ++moved;
    } else {
      moved += operation->moved.load(std::memory_order_relaxed) != before;  // [stat]
      backlog_.add(*operation);
    }
    operation = behind;
  }
  return moved;
}

}  // namespace weft::core
