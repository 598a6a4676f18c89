// SPDX-License-Identifier: BSD-3-Clause
// The move of a running fiber to another worker, which does not own its stack. It has a slot there meanwhile. Its
// public slot stays that of its home worker, which forwards signals.
#pragma once

#include <utility>

#include "fiber/inbox.hpp"
#include "fiber/slot_pool.hpp"
#include "fiber/worker_sleep.hpp"

namespace weft::fibers {

/// The fibers that leave one worker and that come to it. **Threads**: the worker.
class migration {
 public:
  /// Belongs to the worker with these slots, which sleeps so.
  migration(slot_pool& mine, worker_sleep& sleep) noexcept : mine_{mine}, sleep_{sleep} {}

  /// `me`, the running fiber, leaves for `other`. It is suspended next, and then handed over; signals in between are
  /// dropped: the fiber tests its condition again when it resumes. **Errors**: out_of_memory where the other worker has
  /// no slot left.
  void leave(fiber_state& me, worker& other);
  /// Called on the worker's own stack: hands the fiber over that was suspended after `leave`. False: none was.
  bool hand_over() noexcept {
    if (leaving_ == nullptr) return false;
    to_->arrive(*std::exchange(leaving_, nullptr));
    return true;
  }

  /// Whether a fiber has come that does not run here yet.
  [[nodiscard]] bool has_arrivals() const noexcept { return !arriving_.is_empty(); }
  /// Makes those ready. **Returns**: whether there were any.
  bool seat_arrivals() noexcept;

 private:
  void arrive(fiber_state& moved) noexcept;

  slot_pool& mine_;
  worker_sleep& sleep_;
  fiber_state* leaving_ = nullptr;
  migration* to_ = nullptr;  // target of `leaving_`
  inbox arriving_;           // any worker puts
};

}  // namespace weft::fibers
