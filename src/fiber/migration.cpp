// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/migration.hpp"

#include "base/assertion.hpp"
#include "fiber/worker.hpp"
#include "weft/error.hpp"

namespace weft::fibers {

void forward_signal(fiber_state& elsewhere) noexcept {
  worker& home = *elsewhere.home;
  home.slots().visit_location(elsewhere, [&](std::uint64_t location) {
    if (location == 0) return;
    home.stealing().workers()[slot_table::worker_of(location)]->make_ready(static_cast<std::uint32_t>(location));
  });
}

void migration::leave(fiber_state& me, worker& other) {
  WEFT_ASSERT(leaving_ == nullptr && &other.moves() != this);
  std::uint32_t slot = me.slot;
  if (me.home != &other) {
    slot = other.slots().reserve_guest();
    if (slot == ready_bits::none) {
      throw error{errc::out_of_memory, "this_fiber::move_to: that worker has as many fibers as it can"};
    }
  }
  me.next_slot = slot;
  const std::uint32_t left = me.slot_here();
  me.home->slots().settle(me, 0);
  if (&me.home->slots() != &mine_) mine_.leave_guest(left, &me);
  leaving_ = &me;
  to_ = &other.moves();
}

// Called by the worker that it left.
void migration::arrive(fiber_state& moved) noexcept {
  arriving_.put(moved);
  sleep_.wake_if_asleep();
}

bool migration::seat_arrivals() noexcept {
  bool has_any = false;
  while (fiber_state* const each = arriving_.take()) {
    mine_.seat(*each, each->next_slot);
    has_any = true;
  }
  return has_any;
}

}  // namespace weft::fibers
