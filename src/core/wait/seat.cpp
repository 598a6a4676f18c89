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

parking::seat::seat(parking& lot, device_state& dev, device_state& standard, const awaited& events,
                    bool on_all) noexcept
    : lot_{lot}, device_{dev}, standard_{standard} {
  me_.home = dev.index();
  me_.events = events;
  me_.on_all = on_all;
  const std::scoped_lock lock{lot_.mutex_};
  if (!events.objects.empty()) me_.doorbell = lot_.take_doorbell();
  if (me_.doorbell != nullptr) me_.devices = lookers::bit_of(me_.home);
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
  if (handed != 0) lot_.look_for_heirs(device_, handed);
}

stillness parking::seat::look_first() noexcept {
  std::uint64_t duty = lookers::bit_of(me_.home);
  if (me_.doorbell != nullptr) {
    const std::scoped_lock lock{lot_.mutex_};
    duty = lot_.lookers_.duty_of(me_);
  }
  return look(duty);
}

// Messages for the default device wake all threads that sleep elsewhere.
stillness parking::seat::look(std::uint64_t duty) noexcept {
  stillness out = stillness::quiet;
  if ((duty & lookers::bit_of(me_.home)) != 0) out = device_.look_before_sleep();
  if (&device_ != &standard_) out = std::min(out, standard_.look_before_sleep());
  const std::uint64_t others = duty & ~(lookers::bit_of(me_.home) | lookers::bit_of(standard_.index()));
  return others == 0 ? out : std::min(out, device_.others().look(others));
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
  const bool has_looked = duty != 0 || &device_ != &standard_;
  out.is_told = all_see && (!has_looked || (is_covered_ && lot_.are_messages_told(device_, out.still)));
  out.longest = base::clock::now() + (out.is_told ? sleep_max : nap_max);
  return out;
}

std::uint64_t parking::seat::announce(last_look& out) noexcept {
  net::sleep_word& word = (*lot_.words_)[device_.index()];
  net::sleep_word& common = (*lot_.words_)[standard_.index()];
  std::uint64_t duty = lookers::bit_of(me_.home);
  const std::uint64_t others = device_.others().polled();
  const std::scoped_lock lock{lot_.mutex_};
  if (me_.doorbell != nullptr) {
    out.first.word = &me_.doorbell->value;
    me_.devices |= others;
    duty = lot_.lookers_.fall_asleep(me_, out.first.expected);
    is_covered_ = lot_.lookers_.are_covered(me_, others);
  } else {
    out.first = {&word.common_doorbell().value, word.common_doorbell().mark()};
    lookers::fall_asleep(me_);
    word.name_common();
    is_covered_ = others == 0;
  }
  if (&common != &word) {
    out.second = {&common.common_doorbell().value, common.common_doorbell().mark()};
    common.name_common();
  }
  return duty;
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
  return thread.doorbell != nullptr ? *thread.doorbell : (*words_)[thread.home].common_doorbell();
}

// The new lookers of these devices, which `dev` and its quiet calls poll, sleep on, if there is nothing for them.
void parking::look_for_heirs(device_state& dev, std::uint64_t devices) noexcept {
  const std::uint64_t others = devices & ~lookers::bit_of(dev.index());
  // [seat.fence] seq_cst -> [sleep.order]: as in `prepare_sleep`.
  const bool all_see = fence_all_processes();
  stillness still = stillness::busy;
  for (unsigned count = 0; all_see && still == stillness::busy && count < looks_max; ++count)
    still = others == 0 ? dev.look_before_sleep() : std::min(dev.look_before_sleep(), dev.others().look(others));
  if (all_see && are_messages_told(dev, still)) return;
  for (; devices != 0; devices &= devices - 1)
    net::wake_sleepers((*words_)[static_cast<std::uint32_t>(std::countr_zero(devices))]);
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
