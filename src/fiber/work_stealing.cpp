// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/work_stealing.hpp"

#include "base/assertion.hpp"
#include "fiber/worker.hpp"

namespace weft::fibers {

void work_stealing::offer(fiber_state& made) noexcept {
  WEFT_ASSERT(steals_);
  offered_.put(made);
  call_another();
}

// Called for a fiber that any worker may begin: wakes one more that sleeps and has room. False: there is none.
bool work_stealing::call_another() noexcept {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    worker& each = *all_[(index_ + i) % all_.size()];
    if (each.slots().is_full() && each.stealing().offered_.is_empty()) continue;
    if (each.sleep().try_wake()) return true;
  }
  return false;
}

bool work_stealing::call_another_for_rest() noexcept {
  if (!steals_) return false;
  for (const auto& each : all_) {
    if (!each->stealing().offered_.is_empty()) return call_another();
  }
  return false;
}

bool work_stealing::is_one_offered() const noexcept {
  if (!offered_.is_empty()) return true;
  if (!steals_ || mine_.is_full()) return false;
  for (const auto& each : all_) {
    if (!each->stealing().offered_.is_empty()) return true;
  }
  return false;
}

bool work_stealing::begin_offered(bool has_others) noexcept {
  bool has_begun = false;
  // Begins as many fibers as run between two looks, so that fibers that run already keep their part; but while other
  // workers sleep, each begins one.
  for (unsigned count = 0; count < ready_queue::switches_max && begin_one_of(*this); ++count) {
    has_begun = true;
    if (call_another_for_rest()) return true;
  }
  for (std::size_t i = 1; steals_ && !has_others && !has_begun && i < all_.size(); ++i) {
    has_begun = begin_one_of(all_[(index_ + i) % all_.size()]->stealing());
    if (has_begun) call_another_for_rest();
  }
  return has_begun;
}

bool work_stealing::begin_one_of(work_stealing& other) noexcept {
  if (other.offered_.is_empty()) return false;
  const bool is_guest = &other != this;
  if (is_guest && mine_.is_full()) return false;  // asked again under the lock
  const std::uint32_t guest = is_guest ? mine_.reserve_guest() : ready_bits::none;
  if (is_guest && guest == ready_bits::none) {
    call_another_for_rest();  // this one may have been called for it
    return false;
  }
  fiber_state* const begun = other.offered_.take();
  if (begun == nullptr) {
    if (is_guest) mine_.leave_guest(guest, nullptr);
    return false;
  }
  mine_.seat(*begun, is_guest ? guest : begun->slot);
  return true;
}

}  // namespace weft::fibers
