// What happens in one call of progress, in order.
//
// Cost of a quiet call: the gate, one read for the backlog, one for unexpected messages, one poll of each transport.
#include "core/device_state.hpp"
#include "core/runtime_state.hpp"

namespace weft::core {
namespace {

// Messages taken from one peer before the next one has its turn.
constexpr unsigned arrivals_per_peer = 16;

// After so many quiet calls in a row, a device looks after device 0 once: messages for a device that is not there yet,
// or no longer, go there, and a program that polls only devices of its own would never see them.
constexpr unsigned quiet_calls_max = 64;

// The devices whose progress this thread is inside of: a handler may make progress on another one.
struct polling {
  const device_state* device;
  const polling* outer;
};
thread_local constinit const polling* innermost = nullptr;

}  // namespace

bool device_state::is_polled_by_this_thread() const noexcept {
  for (const polling* frame = innermost; frame != nullptr; frame = frame->outer) {
    if (frame->device == this) return true;
  }
  return false;
}

bool device_state::progress() noexcept {
  if (!gate_.try_enter()) return false;
  const polling frame{this, innermost};
  innermost = &frame;
  unsigned moved = 0;
  if (!backlog_.is_empty()) moved += advance_backlog();
  if (runtime_->unexpected().has_ready()) moved += runtime_->unexpected().deliver(*this);
  for (const auto& endpoint : endpoints_) moved += endpoint->poll(*this, arrivals_per_peer);
  quiet_calls_ = moved != 0 ? 0 : quiet_calls_ + 1;
  const bool look_elsewhere = index_ != 0 && quiet_calls_ == quiet_calls_max;
  if (look_elsewhere) quiet_calls_ = 0;
  innermost = frame.outer;
  gate_.leave();
  if (look_elsewhere) return runtime_->default_state().progress();
  return moved != 0;
}

unsigned device_state::advance_backlog() noexcept {
  unsigned moved = 0;
  for (operation_state* operation = backlog_.take_all(); operation != nullptr;) {
    operation_state* const behind = operation->behind;
    const std::uint64_t before = operation->moved.load(std::memory_order_relaxed);  // [stat]
    if (advance(*operation)) {
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
