// SPDX-License-Identifier: BSD-3-Clause
// A thread's sleeps in one wait: how it announces them, and how it hands the looking on when its wait ends.
#include <algorithm>
#include <bit>

#include "core/device/device_state.hpp"
#include "core/device/poll_gate.hpp"
#include "core/wait/parking.hpp"

namespace weft::core {
namespace {

// Looks after a fence, as another thread may poll the device at that moment.
constexpr unsigned looks_max = 16;

}  // namespace

parking::seat::seat(parking& lot, const waited_devices& devices, const awaited& events, bool on_all) noexcept
    : lot_{lot}, devices_{devices} {
  me_.homes = devices.bits();
  me_.events = events;
  me_.on_all = on_all;
  const std::scoped_lock lock{lot_.mutex_};
  if (!events.objects.empty()) me_.doorbell = lot_.take_doorbell();
  if (me_.doorbell != nullptr) me_.devices = me_.homes;
  lot_.lookers_.enter(me_);
}

parking::seat::~seat() {
  if (lot_.copy_.is_copy()) return;
  std::uint64_t handed = 0;
  {
    const std::scoped_lock lock{lot_.mutex_};
    handed = lot_.lookers_.leave(me_);
    if (me_.doorbell != nullptr) lot_.release_doorbell(*me_.doorbell);
  }
  if (handed != 0) lot_.look_for_heirs(devices_, handed);
}

stillness parking::seat::look_first() noexcept {
  std::uint64_t duty = me_.homes;
  if (me_.doorbell != nullptr) {
    const std::scoped_lock lock{lot_.mutex_};
    duty = lot_.lookers_.duty_of(me_);
  }
  return look(duty);
}

// Messages for the default device wake all threads that sleep elsewhere.
stillness parking::seat::look(std::uint64_t duty) noexcept {
  const std::uint64_t common = lookers::bit_of(devices_.standard().index());
  const stillness out = devices_.look(is_at_default() ? duty : duty & ~common);
  return is_at_default() ? out : std::min(out, devices_.standard().look_before_sleep());
}

bool parking::seat::is_at_default() const noexcept {
  return (me_.homes & lookers::bit_of(devices_.standard().index())) != 0;
}

parking::last_look parking::seat::prepare_sleep() noexcept {
  lot_.count_in(me_);
  last_look out{};
  const std::uint64_t duty = announce(out);
  // [seat.fence] seq_cst -> [parking.order], [sleep.order]: the look below sees what was published or signalled
  // before; a thread that publishes or signals later sees the sleeper.
  const bool all_see = fence_all_processes();
  for (unsigned count = 0; count < looks_max && (out.still = look(duty)) == stillness::busy; ++count) {
  }
  const bool has_looked = duty != 0 || !is_at_default();
  out.is_told = all_see && (!has_looked || (is_covered_ && lot_.are_messages_told(devices_.first(), out.still)));
  out.longest = base::clock::now() + (out.is_told ? sleep_max : nap_max);
  return out;
}

std::uint64_t parking::seat::announce(last_look& out) noexcept {
  std::uint64_t duty = me_.homes;
  const std::uint64_t others = devices_.polled();
  const std::scoped_lock lock{lot_.mutex_};
  if (me_.doorbell != nullptr) {
    out.first.word = &me_.doorbell->value;
    me_.devices |= others;
    duty = lot_.lookers_.fall_asleep(me_, out.first.expected);
    is_covered_ = lot_.lookers_.are_covered(me_, others);
  } else {
    lookers::fall_asleep(me_);
    out.first = name_common(devices_.first());
    // A thread sleeps at two words at most, so it would miss messages of further devices.
    is_covered_ = others == 0 && !devices_.are_several();
  }
  if (!is_at_default()) out.second = name_common(devices_.standard());
  return duty;
}

base::awaited_word parking::seat::name_common(const device_state& dev) noexcept {
  net::sleep_word& word = (*lot_.words_)[dev.index()];
  const base::awaited_word out{&word.common_doorbell().value, word.common_doorbell().mark()};
  word.name_common();
  return out;
}

void parking::seat::end_sleep() noexcept {
  if (lot_.copy_.is_copy()) return;
  lookers::wake_up(me_);
  lot_.count_out(me_);
}

void parking::seat::wake() noexcept {
  if (lot_.copy_.is_copy()) return;
  net::wake_at(lot_.doorbell_of(me_));
}

net::sleep_word& parking::doorbell_of(const sleeper& thread) const noexcept {
  if (thread.doorbell != nullptr) return *thread.doorbell;
  return (*words_)[static_cast<std::size_t>(std::countr_zero(thread.homes))].common_doorbell();
}

// The new lookers of the devices that were `handed` on sleep on, if there is nothing for them.
void parking::look_for_heirs(const waited_devices& devices, std::uint64_t handed) noexcept {
  // [seat.fence] seq_cst -> [sleep.order]: as in `prepare_sleep`.
  const bool all_see = fence_all_processes();
  stillness still = stillness::busy;
  for (unsigned count = 0; all_see && still == stillness::busy && count < looks_max; ++count)
    still = devices.look(handed);
  if (all_see && are_messages_told(devices.first(), still)) return;
  for (; handed != 0; handed &= handed - 1)
    net::wake_sleepers((*words_)[static_cast<std::uint32_t>(std::countr_zero(handed))]);
}

net::sleep_word* parking::take_doorbell() noexcept {
  for (std::uint32_t index = 0; index < doorbells_.size(); ++index) {
    if (doorbells_.test(index)) continue;
    doorbells_.set(index);
    return words_->data() + net::sleep_word::doorbells_begin + index;
  }
  return nullptr;
}

void parking::release_doorbell(const net::sleep_word& doorbell) noexcept {
  doorbells_.reset(static_cast<std::size_t>(&doorbell - words_->data()) - net::sleep_word::doorbells_begin);
}

}  // namespace weft::core
