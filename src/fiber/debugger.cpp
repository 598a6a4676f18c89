// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/debugger.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/not_inherited.hpp"
#include "fiber/worker.hpp"

namespace weft::fibers {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // supported for all classes that have no virtual base

/// The places of things, as tools/weft_gdb.py reads them. What changes here changes there, and the number.
struct debugger_layout {
  static constexpr std::uint64_t number = 1;

  static constexpr std::array<std::uint64_t, 10> value() noexcept {
    return {number,
            offsetof(worker, ready_) + offsetof(ready_queue, slots_) + offsetof(slot_table, slots_),
            offsetof(worker, slots_) + offsetof(slot_pool, used_),
            offsetof(worker, ready_) + offsetof(ready_queue, slots_) + offsetof(slot_table, base_),
            offsetof(worker, switching_) + offsetof(switching, running_),
            offsetof(fiber_state, registers),
            offsetof(fiber_state, location),
            offsetof(fiber_state, waits_for) + offsetof(told_wait, call),
            offsetof(fiber_state, waits_for) + offsetof(told_wait, peer),
            offsetof(fiber_state, waits_for) + offsetof(told_wait, tag)};
  }
};

#pragma GCC diagnostic pop

namespace {
// Never destroyed, as schedulers may be static objects.
base::process_lock& listing() {
  static base::process_lock& lock = *new base::process_lock;
  return lock;
}
}  // namespace

extern "C" {
[[gnu::used]] debugger_entry* weft_fiber_workers = nullptr;  // workers of all schedulers; under `listing()`
[[gnu::used]] extern const std::array<std::uint64_t, 10> weft_fiber_layout = debugger_layout::value();
}

debugger_entry::debugger_entry(worker& worker) noexcept : worker_{&worker} {
  const std::scoped_lock lock{listing()};
  next_ = weft_fiber_workers;
  weft_fiber_workers = this;
}

debugger_entry::~debugger_entry() {
  const std::scoped_lock lock{listing()};
  debugger_entry** link = &weft_fiber_workers;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
}

}  // namespace weft::fibers
