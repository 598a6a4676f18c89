// SPDX-License-Identifier: BSD-3-Clause
// The ready fibers of a worker, in the order in which it runs them: by their bits, and who has the slot of a bit.
#pragma once

#include <cstdint>

#include "fiber/fiber_state.hpp"
#include "fiber/ready_bits.hpp"
#include "fiber/slot_table.hpp"

namespace weft::fibers {

/// **Threads**: the worker alone, unless a function says otherwise.
class ready_queue {
 public:
  /// The worker makes progress after so many switches, at the end of a word of ready bits.
  static constexpr unsigned switches_max = 64;

  /// Holds slots below `capacity`. **Errors**: std::bad_alloc.
  explicit ready_queue(std::uint32_t capacity) : bits_{capacity}, slots_{capacity} {}

  [[nodiscard]] slot_table& slots() noexcept { return slots_; }
  [[nodiscard]] const slot_table& slots() const noexcept { return slots_; }

  /// `slot` may be set from now on. **Threads**: one at a time, before others can know of the slot.
  void use(std::uint32_t slot) noexcept {
    WEFT_ASSERT(slot < slots_.capacity());
    bits_.use(slot);
  }
  /// Makes the fiber in a slot ready.
  void set_own(std::uint32_t slot) noexcept { bits_.set_own(slot); }
  /// Called by another thread, which then has to look whether the worker sleeps. **Threads**: any.
  void set(std::uint32_t slot) noexcept { bits_.set(slot); }

  /// The next fiber whose bit was taken already; null: there is none.
  [[nodiscard, gnu::always_inline]] fiber_state* next() noexcept {
    while (bits_.has_taken()) {
      const std::uint32_t slot = bits_.take_next();
      fiber_state* const out = slots_.signalled(slot);
      // [fiber.may_run] acquire <- [fiber.start]: all that its function uses, where this is a signal for one that was
      // here before.
      if (out->location.load(std::memory_order_acquire) == slots_.location_of(slot)) [[likely]]
        return out;
      forward_signal(*out);
    }
    return nullptr;
  }
  /// The next fiber of a new round; null: it is time for progress, or for sleep.
  [[nodiscard]] fiber_state* refill() noexcept;

  /// Whether nothing is set. A thread that sets a bit after this sees the worker's seq_cst stores that come before.
  [[nodiscard]] bool is_empty() const noexcept { return bits_.is_empty(); }
  /// Whether another thread has set something that was not taken.
  [[nodiscard]] bool is_set_by_others() const noexcept { return bits_.is_set_by_others(); }
  /// Whether all that was set when this round began has been taken.
  [[nodiscard]] bool is_round_over() const noexcept { return bits_.is_round_over(); }

 private:
  friend struct debugger_layout;

  ready_bits bits_;
  slot_table slots_;
  unsigned switches_ = 0;  // since the last progress
};

}  // namespace weft::fibers
