// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/fiber_witness.hpp"

#include "base/counted.hpp"

namespace weft::fibers {

base::witness::sight fiber_witness::look() noexcept {
  sight out;
  bool do_all_wait = true;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const fibers::look next = look_at(*workers_[i]);
    do_wait_[i] = next.is_asleep || next.polls != last_[i].polls;
    // A thread that sleeps inside a fiber stops the others.
    do_all_wait = do_all_wait && (do_wait_[i] || is_asleep(next.thread));
    last_[i] = next;
    out.moves += next.moves;
  }
  out.waits = do_all_wait && count_alive(workers_) != 0;
  return out;
}

void fiber_witness::describe(base::report& into) {
  if (count_alive(workers_) == 0) return;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (!do_wait_[i]) into.add("worker {} of a fiber_scheduler runs one fiber, and {}", i, words_of_hold);
  }
  const told_waits waits = gather_waits(workers_);
  into.add("{} of a scheduler {}: {}", base::counted(waits.count, "fiber"),
           base::form_for(waits.count, "waits", "wait"), waits.text);
  if (!makes_progress_ && waits.has_peers) {
    into.add(
        "the scheduler of these fibers has no `.devices`, so its workers make progress only before they sleep: give it "
        "devices, or use a progress_thread");
  }
}

}  // namespace weft::fibers
