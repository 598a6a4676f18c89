// SPDX-License-Identifier: BSD-3-Clause
#include "core/device/other_devices.hpp"

#include <algorithm>
#include <bit>

#include "base/assertion.hpp"
#include "base/backoff.hpp"
#include "core/device/device_state.hpp"
#include "core/progress/progress.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {
namespace {

// A variable of the thread: no fiber is suspended while its thread polls another device.
[[gnu::tls_model("initial-exec")]] thread_local constinit bool is_at_another = false;

// The index of the set bit of `mask` before which `count` others are set.
std::uint32_t index_of_bit(std::uint64_t mask, std::uint32_t count) noexcept {
  for (; count != 0; --count) mask &= mask - 1;
  return static_cast<std::uint32_t>(std::countr_zero(mask));
}

// Inside the gate of `other`, a device of which this thread does not make progress; `pass` leaves it.
progress::passed poll_entered(device_state& other,
                              progress::passed (*pass)(device_state&) noexcept = progress::pass_for_other) noexcept {
  is_at_another = true;
  const progress::passed out = pass(other);
  is_at_another = false;
  return out;
}

}  // namespace

other_devices::other_devices(device_state& own, const shared_devices& shared, progress_policy policy)
    : own_{own},
      shared_{shared},
      policy_{policy},
      random_{(own.index() + 1) * 0x9e3779b9},
      schedule_{policy == progress_policy::adaptive ? std::make_unique<poll_schedule>() : nullptr} {}

std::uint64_t other_devices::all() const noexcept { return shared_.all() & ~shared_devices::bit_of(own_.index()); }

bool other_devices::end_quiet_call() noexcept {
  WEFT_ASSERT_CHECKED(own_.gate().is_inside());
  own_.counts().quiet();
  const bool is_long_quiet = quiet_.add();
  unsigned moved = 0;
  if (is_long_quiet && !is_at_another && quiet_.looks_for_ends()) moved = own_.runtime().peer_ends().look(own_);
  const bool wants_default = is_long_quiet && own_.index() != 0;
  const bool wants_ended = is_long_quiet && own_.runtime().peer_ends().awaits_devices();
  if ((!wants_default && !wants_ended && policy_ == progress_policy::local) || is_at_another) {
    own_.gate().leave();
    return moved != 0;
  }
  bool is_back = true;
  if (wants_ended) is_back = poll_for_ended(moved);
  if (wants_default && is_back) is_back = poll(0, moved);
  if (is_back) is_back = poll_by_policy(moved);
  if (is_back) own_.gate().leave();
  return moved != 0;
}

unsigned other_devices::poll_all() noexcept {
  unsigned moved = 0;
  if (is_at_another || !own_.gate().try_enter()) return moved;
  bool is_back = true;
  for (std::uint64_t left = all(); left != 0 && is_back; left &= left - 1) is_back = poll(index_of_bit(left, 0), moved);
  if (is_back) own_.gate().leave();
  return moved;
}

stillness other_devices::look(std::uint64_t devices) noexcept {
  if (is_at_another || !own_.gate().try_enter()) return stillness::busy;
  stillness out = stillness::quiet;
  for (std::uint64_t left = devices & all(); left != 0; left &= left - 1) {
    device_state* const other = enter(index_of_bit(left, 0), [](device_state&) { return true; });
    if (other == nullptr) {  // another thread polls it, or it is gone
      out = stillness::busy;
      continue;
    }
    own_.gate().leave();
    is_at_another = true;
    out = std::min(out, progress::look_for_other(*other));
    is_at_another = false;
    if (!own_.gate().try_enter()) return stillness::busy;
  }
  own_.gate().leave();
  return out;
}

unsigned other_devices::poll_for_ended() noexcept {
  unsigned moved = 0;
  if (!own_.runtime().peer_ends().awaits_devices() || is_at_another || !own_.gate().try_enter()) return moved;
  if (poll_for_ended(moved)) own_.gate().leave();
  return moved;
}

bool other_devices::poll_for_ended(unsigned& moved) noexcept {
  const peer_ends& ends = own_.runtime().peer_ends();
  for (std::uint64_t left = all(); left != 0; left &= left - 1) {
    const std::uint32_t index = index_of_bit(left, 0);
    if (!ends.awaits_device(index)) continue;
    device_state* const other = enter(index, [](device_state&) { return true; });
    if (other == nullptr) continue;
    own_.gate().leave();
    moved += poll_entered(*other, progress::pass_for_ended).moved;
    if (!own_.gate().try_enter()) return false;
  }
  return true;
}

bool other_devices::poll_by_policy(unsigned& moved) noexcept {
  std::uint64_t left = policy_ == progress_policy::local ? 0 : all();
  if (left == 0) return true;
  switch (policy_) {
    case progress_policy::local: return true;
    case progress_policy::random:
      return poll(index_of_bit(left, next_random() % static_cast<std::uint32_t>(std::popcount(left))), moved);
    case progress_policy::all:
      for (; left != 0; left &= left - 1) {
        if (!poll(index_of_bit(left, 0), moved)) return false;
      }
      return true;
    case progress_policy::adaptive: return poll_due(left, moved);
  }
  return true;
}

// Marsaglia's xorshift of 32 bits.
std::uint32_t other_devices::next_random() noexcept {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 17;
  return random_ ^= random_ << 5;
}

bool other_devices::poll_due(std::uint64_t among, unsigned& moved) noexcept {
  const poll_schedule::nanoseconds now = poll_schedule::now();
  if (!schedule_->is_due(now)) return true;
  const auto count = static_cast<unsigned>(std::popcount(among));
  for (std::uint64_t left = among; left != 0; left &= left - 1) {
    const std::uint32_t index = index_of_bit(left, 0);
    if (schedule_->is_due(index, now) && !poll_if_unpolled(index, now, count, moved)) return false;
  }
  schedule_->set_next(among, now);
  return true;
}

bool other_devices::poll_if_unpolled(std::uint32_t index, std::int64_t now, unsigned count, unsigned& moved) noexcept {
  std::uint32_t calls = 0;
  device_state* const other = enter(index, [&](device_state& it) {
    calls = static_cast<std::uint32_t>(it.counts().calls());
    return schedule_->is_unpolled(index, calls);
  });
  if (other == nullptr) {
    schedule_->found_polled(index, calls, now, count);
    return true;
  }
  own_.gate().leave();
  const progress::passed there = poll_entered(*other);
  moved += there.moved;
  if (!own_.gate().try_enter()) return false;
  schedule_->polled(index, there.calls, there.moved != 0, now);
  return true;
}

bool other_devices::poll(std::uint32_t index, unsigned& moved) noexcept {
  device_state* const other = enter(index, [](device_state&) { return true; });
  if (other == nullptr) return true;
  own_.gate().leave();
  moved += poll_entered(*other).moved;
  return own_.gate().try_enter();
}

// Enters the gate of device `index` if the device exists, `wants` accepts it, and no thread is inside; else null.
template <class Wants>
device_state* other_devices::enter(std::uint32_t index, Wants&& wants) noexcept {
  WEFT_ASSERT_CHECKED(own_.gate().is_inside() && !is_at_another && index != own_.index());
  // [choosing.begin] relaxed: ordered before the look at the table by the fence of the thread that closes a device.
  choosing_.store(true, std::memory_order_relaxed);
  fence_for_all(kernel_fences_threads());
  device_state* const other = shared_.find(index);
  const bool is_inside = other != nullptr && wants(*other) && other->gate().try_enter();
  // [choosing.end] release -> [choosing.wait]: this thread is inside, or does not use the device.
  choosing_.store(false, std::memory_order_release);
  return is_inside ? other : nullptr;
}

void other_devices::wait_until_chosen() const noexcept {
  base::backoff waiting;
  // [choosing.wait] acquire <- [choosing.end]: a thread that had found the device is inside its gate, or has left it.
  while (choosing_.load(std::memory_order_acquire)) waiting.pause();
}

}  // namespace weft::core
