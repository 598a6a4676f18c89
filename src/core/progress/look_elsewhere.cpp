// A call of progress that has moved nothing on its own device visits other devices, by the device's policy.
//
// The thread leaves its own gate during a visit, so that other threads may poll its device meanwhile. Visits are not
// nested: if a handler that runs in a visit makes progress on a device, that call visits no other device.
#include <bit>

#include "core/device/attention.hpp"
#include "core/device/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {
namespace {

// Of the thread: no fiber is suspended inside a visit.
[[gnu::tls_model("initial-exec")]] thread_local constinit bool is_visiting_here = false;

// The index of the set bit of `mask` before which `count` others are set.
std::uint32_t index_of_bit(std::uint64_t mask, std::uint32_t count) noexcept {
  for (; count != 0; --count) mask &= mask - 1;
  return static_cast<std::uint32_t>(std::countr_zero(mask));
}

}  // namespace

std::uint64_t device_state::others() const noexcept {
  return runtime_->devices().shared().all() & ~shared_devices::bit_of(index_);
}

// The end of a quiet call, which leaves the gate.
bool device_state::look_elsewhere() noexcept {
  counts_.quiet();
  const bool is_long_quiet = quiet_.add();
  unsigned moved = 0;
  if (is_long_quiet && !is_visiting_here && quiet_.looks_for_ends()) moved = runtime_->peer_ends().look(*this);
  const bool wants_default = is_long_quiet && index_ != 0;
  if ((!wants_default && policy_ == progress_policy::local) || is_visiting_here) {
    gate_.leave();
    return moved != 0;
  }
  bool is_back = true;
  if (wants_default) is_back = visit(0, moved);
  if (is_back) is_back = look_by_policy(moved);
  if (is_back) gate_.leave();
  return moved != 0;
}

bool device_state::progress_everywhere() noexcept {
  unsigned moved = progress() ? 1 : 0;
  if (is_visiting_here || !gate_.try_enter()) return moved != 0;
  bool is_back = true;
  for (std::uint64_t left = others(); left != 0 && is_back; left &= left - 1) {
    is_back = visit(index_of_bit(left, 0), moved);
  }
  if (is_back) gate_.leave();
  return moved != 0;
}

// Called inside the gate. False: this thread has left the gate and another one is inside now. The same for the
// functions that follow.
bool device_state::look_by_policy(unsigned& moved) noexcept {
  std::uint64_t left = policy_ == progress_policy::local ? 0 : others();
  if (left == 0) return true;
  switch (policy_) {
    case progress_policy::local: return true;
    case progress_policy::random: {
      // Marsaglia's xorshift of 32 bits.
      random_ ^= random_ << 13;
      random_ ^= random_ >> 17;
      random_ ^= random_ << 5;
      const auto count = static_cast<std::uint32_t>(std::popcount(left));
      return visit(index_of_bit(left, random_ % count), moved);
    }
    case progress_policy::all:
      for (; left != 0; left &= left - 1) {
        if (!visit(index_of_bit(left, 0), moved)) return false;
      }
      return true;
    case progress_policy::adaptive: return visit_neglected(left, moved);
  }
  return true;
}

bool device_state::visit_neglected(std::uint64_t among, unsigned& moved) noexcept {
  const attention::nanoseconds now = attention::now();
  if (!attention_->is_due(now)) return true;
  const auto count = static_cast<unsigned>(std::popcount(among));
  for (std::uint64_t left = among; left != 0; left &= left - 1) {
    const std::uint32_t index = index_of_bit(left, 0);
    if (attention_->is_due(index, now) && !visit_if_neglected(index, now, count, moved)) return false;
  }
  attention_->set_next(among, now);
  return true;
}

bool device_state::visit_if_neglected(std::uint32_t index, std::int64_t now, unsigned count, unsigned& moved) noexcept {
  std::uint32_t calls = 0;
  device_state* const other = enter_other(index, [&](const device_state& it) {
    calls = static_cast<std::uint32_t>(it.counts_.calls());
    return attention_->is_neglected(index, calls);
  });
  if (other == nullptr) {
    attention_->found_attended(index, calls, now, count);
    return true;
  }
  gate_.leave();
  const visit_answer answer = other->be_visited();
  moved += answer.moved;
  if (!gate_.try_enter()) return false;
  attention_->visited(index, answer.calls, answer.moved != 0, now);
  return true;
}

bool device_state::visit(std::uint32_t index, unsigned& moved) noexcept {
  device_state* const other = enter_other(index, [](const device_state&) { return true; });
  if (other == nullptr) return true;
  gate_.leave();
  moved += other->be_visited().moved;
  return gate_.try_enter();
}

// Enters the gate of device `index` if the device exists, `wants` accepts it, and no thread is inside; else null.
template <class Wants>
device_state* device_state::enter_other(std::uint32_t index, Wants&& wants) noexcept {
  // [choosing.begin] relaxed: ordered before the look at the table by the fence of the thread that closes a device.
  choosing_.store(true, std::memory_order_relaxed);
  fence_for_all(kernel_fences_threads());
  device_state* const other = runtime_->devices().shared().find(index);
  const bool is_inside = other != nullptr && wants(*other) && other->gate_.try_enter();
  // [choosing.end] release -> [choosing.wait]: this thread is inside, or does not use the device.
  choosing_.store(false, std::memory_order_release);
  return is_inside ? other : nullptr;
}

void device_state::wait_until_chosen() const noexcept {
  base::backoff waiting;
  // [choosing.wait] acquire <- [choosing.end]: a thread that had found the device is inside its gate, or has left it.
  while (choosing_.load(std::memory_order_acquire)) waiting.pause();
}

// One call of progress, by a thread of another device that has entered the gate.
device_state::visit_answer device_state::be_visited() noexcept {
  is_visiting_here = true;
  unsigned moved = advance_kept();
  const unsigned arrived = poll_all();
  if (!hooks_.is_empty()) moved += hooks_.run(*this);
  moved += arrived;
  runtime_->peer_ends().look_when_visited(*this);
  if (moved != 0) {
    counts_.moved(arrived);
  } else {
    counts_.quiet();
  }
  const auto calls = static_cast<std::uint32_t>(counts_.calls());
  gate_.leave();
  is_visiting_here = false;
  return {moved, calls};
}

}  // namespace weft::core
