// SPDX-License-Identifier: BSD-3-Clause
// Which fiber has which slot of a worker.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/assertion.hpp"
#include "fiber/fiber_state.hpp"
#include "weft/detail/zeroed_memory.hpp"

namespace weft::fibers {

/// A signal knows a fiber by a slot alone, so a slot that was once seated is read at any time. **Threads**: one at a
/// time seats; any read.
class slot_table {
 public:
  /// Holds slots below `capacity`, all empty. **Errors**: std::bad_alloc.
  explicit slot_table(std::uint32_t capacity)
      : slots_{static_cast<std::atomic<fiber_state*>*>(detail::allocate_zeroed(bytes_of(capacity)))},
        capacity_{capacity} {
    if (slots_ == nullptr) throw std::bad_alloc{};
  }
  ~slot_table() { detail::release_zeroed(slots_, bytes_of(capacity_)); }
  slot_table(const slot_table&) = delete;
  slot_table& operator=(const slot_table&) = delete;

  /// The worker of this table is the one with this index. **Threads**: before others know the table.
  void use_index(std::uint32_t index) noexcept { base_ = std::uint64_t{index + 1} << 32; }

  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  /// Names a worker and its slot, never 0.
  [[nodiscard]] std::uint64_t location_of(std::uint32_t slot) const noexcept { return base_ | slot; }
  [[nodiscard]] static std::uint32_t worker_of(std::uint64_t location) noexcept {
    return static_cast<std::uint32_t>(location >> 32) - 1;
  }

  /// Called by the worker, after a signal for the slot.
  [[nodiscard]] fiber_state* signalled(std::uint32_t slot) const noexcept {
    // [fiber.seated] acquire <- [fiber.seat]: whose slot it is; a signal for a fiber that has left it may be late.
    return slots_[slot].load(std::memory_order_acquire);
  }
  /// Under the lock under which slots are seated. Null: no fiber has had the slot.
  [[nodiscard]] fiber_state* fiber_at(std::uint32_t slot) const noexcept {
    return slots_[slot].load(std::memory_order_relaxed);  // [locked] as it is written
  }
  void seat(std::uint32_t slot, fiber_state& here) noexcept {
    WEFT_ASSERT(slot < capacity_);
    // [fiber.seat] release -> [fiber.seated]: its head.
    slots_[slot].store(&here, std::memory_order_release);
  }
  /// No thread reads the slot any more until it is seated again.
  void clear(std::uint32_t slot) noexcept {
    slots_[slot].store(nullptr, std::memory_order_relaxed);  // [locked]
  }

 private:
  friend struct debugger_layout;
  [[nodiscard]] static std::size_t bytes_of(std::uint32_t count) noexcept {
    return std::size_t{count} * sizeof(std::atomic<fiber_state*>);
  }

  std::atomic<fiber_state*>* slots_;
  std::uint64_t base_ = 0;  // added to the locations here
  std::uint32_t capacity_;
};

}  // namespace weft::fibers
