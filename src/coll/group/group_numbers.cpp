// SPDX-License-Identifier: BSD-3-Clause
#include "coll/group/group_numbers.hpp"

#include <fmt/format.h>

#include "coll/group/epoch_barrier.hpp"
#include "coll/group/group_state.hpp"
#include "weft/device.hpp"

namespace weft::coll {

group_numbers::group_numbers(group_state& group, group_name name) noexcept
    : group_{&group},
      name_{(std::uint64_t{name.leader} << group_name::number_bits | name.number) << (label_bits + number_bits)} {}

group_numbers::~group_numbers() = default;

// The barrier is made before the first collective at whose end it may be entered: an end makes nothing.
std::uint64_t group_numbers::take_slow() {
  const std::uint64_t number = next();
  if (number_window::is_before_barrier(number)) {
    if (barrier_ == nullptr) barrier_ = std::make_unique<epoch_barrier>(*group_, *this);
  } else if (is_open(number)) {
    simple_below_ = number_window::number_before_barrier(number / number_window::epoch_numbers);
  }
  set_next(number_window::next(number));
  return number;
}

std::uint64_t group_numbers::take_slow_open() {
  const std::uint64_t number = take_slow();
  if (!is_open(number)) wait_until_open(number);
  return number;
}

void group_numbers::enter_barrier() noexcept { barrier_->enter(); }

bool group_numbers::is_busy() const noexcept { return barrier_ != nullptr && barrier_->is_running(); }

void group_numbers::wait_until_open(std::uint64_t number) {
  group_->device().wait(*barrier_, [&] { return is_open(number) || failure() != errc::none; });
  if (!is_open(number)) refuse("a collective");
}

void group_numbers::refuse(std::string_view collective) const {
  const errc reason = failure();
  if (reason == errc::cancelled) {
    throw error{errc::invalid_state,
                fmt::format("{}: a collective of this group was destroyed before its end, so that its tags can't be "
                            "used again: make another group",
                            collective)};
  }
  if (reason != errc::none) {
    throw error{reason, fmt::format("{}: the barrier before it has failed ({}): make another group, of the members "
                                    "that are left",
                                    collective, name_of(reason))};
  }
  throw error{errc::backlog_full,
              fmt::format("{}: thousands of collectives of this group are under way, at this member "
                          "or at another one: wait for some of them",
                          collective)};
}

void group_numbers::start_when_open(deferred_start& start) { barrier_->start_when_open(start); }

bool group_numbers::try_remove(deferred_start& start) noexcept {
  return barrier_ != nullptr && barrier_->try_remove(start);
}

void group_numbers::fail(errc reason) noexcept {
  errc none = errc::none;
  // [numbers.fail] release -> [numbers.failure]: what has failed.
  failure_.compare_exchange_strong(none, reason, std::memory_order_release, std::memory_order_relaxed);
  if (barrier_ != nullptr) barrier_->refuse_all();
}

}  // namespace weft::coll
