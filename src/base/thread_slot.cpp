// SPDX-License-Identifier: BSD-3-Clause
#include "weft/detail/thread_slot.hpp"

#include <bitset>
#include <mutex>

#include "base/not_inherited.hpp"

namespace weft::detail {
namespace {

struct slot_registry {
  base::process_lock mutex;
  std::bitset<thread_slots_max> taken;
};

// Never destroyed: threads may end after the last static destructor has run.
slot_registry& registry() noexcept {
  static slot_registry& instance = *new slot_registry;
  return instance;
}

// Lives as long as its thread. A thread that uses Weft from the destructor of a thread-local older than this one
// finds `no_thread_slot` and takes the slower ways.
struct slot_holder {
  std::uint32_t slot = no_thread_slot;

  ~slot_holder() {
    cached_thread_slot = no_thread_slot;
    if (slot == no_thread_slot) return;
    slot_registry& slots = registry();
    const std::scoped_lock lock{slots.mutex};
    slots.taken.reset(slot);
  }
};

}  // namespace

std::uint32_t acquire_thread_slot() noexcept {
  thread_local slot_holder holder;  // variable of the thread
  slot_registry& slots = registry();
  const std::scoped_lock lock{slots.mutex};
  for (std::uint32_t slot = 0; slot < thread_slots_max; ++slot) {
    if (slots.taken.test(slot)) continue;
    slots.taken.set(slot);
    holder.slot = slot;
    break;
  }
  cached_thread_slot = holder.slot;
  return holder.slot;
}

std::uint32_t find_thread_slot() noexcept { return this_thread_slot(); }

}  // namespace weft::detail
