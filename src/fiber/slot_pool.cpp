// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/slot_pool.hpp"

#include <algorithm>
#include <chrono>
#include <new>

#include "base/assertion.hpp"
#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "base/misuse.hpp"
#include "fiber/worker.hpp"
#include "weft/error.hpp"

namespace weft::fibers {

slot_pool::~slot_pool() {
  // No other thread is left. The last fiber in a bare slot had its stack elsewhere, and that may be gone.
  for (const std::uint32_t slot : bare_) ready_.slots().clear(slot);
  for (std::uint32_t slot = 0; slot < used_; ++slot) {
    fiber_state* const each = ready_.slots().fiber_at(slot);
    if (each != nullptr) each->~fiber_state();
  }
}

fiber_state* slot_pool::make(std::size_t function_bytes, std::size_t alignment) {
  const std::scoped_lock lock{mutex_};
  fiber_state& out = free_.empty() ? make_slot() : *ready_.slots().fiber_at(free_.back());
  if (!free_.empty()) free_.pop_back();
  WEFT_ASSERT(out.home == &owner_);
  forget_frames(out.stack.bottom, reinterpret_cast<std::byte*>(&out));
  auto function = reinterpret_cast<std::uintptr_t>(&out) - function_bytes;
  function -= function % std::max(alignment, std::size_t{16});
  out.function = reinterpret_cast<void*>(function);
  out.joiner.store(nullptr, std::memory_order_relaxed);  // [own] no other thread knows it yet
  out.thrown = nullptr;
  out.exceptions = {};
  out.waits_for.say({.call = "its first turn"});
  out.registers.prepare(out.stack.bottom, reinterpret_cast<std::byte*>(function), &run_fiber, &out);
  ++held_;
  begun_.store(begun_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // [locked]
  return &out;
}

// A stack for a slot that has had none yet.
fiber_state& slot_pool::make_slot() {
  if (bare_.empty() && used_ == ready_.slots().capacity()) {
    throw error{errc::out_of_memory,
                "fiber_scheduler::spawn: a worker has as many fibers as `.fibers_per_worker` allows"};
  }
  const std::uint32_t slot = bare_.empty() ? used_ : bare_.back();
  // So that giving back needs no memory.
  if (free_.capacity() <= used_) free_.reserve(std::max(used_ * 2, 64U));
  const stacks::stack stack = stacks_.make(slot);
  if (stack.top == nullptr) {
    throw error{errc::out_of_memory, "fiber_scheduler::spawn: the system has no memory, or no mapping, for a stack"};
  }
  auto head = reinterpret_cast<std::uintptr_t>(stack.top) - sizeof(fiber_state);
  head -= head % alignof(fiber_state);
  fiber_state& out = *::new (reinterpret_cast<void*>(head)) fiber_state;
  out.home = &owner_;
  out.slot = slot;
  out.stack = stack;
  ready_.slots().seat(slot, out);
  if (bare_.empty()) {
    ready_.use(used_++);
  } else {
    bare_.pop_back();
  }
  return out;
}

void slot_pool::release(fiber_state& ended) noexcept {
  WEFT_ASSERT(ended.home == &owner_);
  ended.thrown = nullptr;
  const std::scoped_lock lock{mutex_};
  if (free_.size() >= warm_max) stacks_.release_pages(ended.stack);
  free_.push_back(ended.slot);
  note_room();
  --held_;
}

// A slot has become free.
void slot_pool::note_room() noexcept {
  if (!is_full_.load(std::memory_order_relaxed)) [[likely]]  // [locked] it changes under the lock alone
    return;
  // [fiber.room] seq_cst -> [fiber.is_full]: before the look whether it sleeps.
  is_full_.store(false, std::memory_order_seq_cst);
  sleep_.wake_if_asleep();
}

void slot_pool::settle(fiber_state& moved, std::uint64_t location) noexcept {
  WEFT_ASSERT(moved.home == &owner_);
  const std::scoped_lock lock{mutex_};
  // [fiber.start] release -> [fiber.may_run]: all that its function uses, at its start and after a move.
  moved.location.store(location, std::memory_order_release);
}

void slot_pool::seat(fiber_state& here, std::uint32_t slot) noexcept {
  {
    const std::scoped_lock lock{mutex_};
    here.lender = here.home == &owner_ ? nullptr : owner_of(slot);
    ready_.slots().seat(slot, here);
  }
  here.home->slots().settle(here, ready_.slots().location_of(slot));
  ready_.set_own(slot);
}

// The fiber with its stack here that `slot` is of, or null.
fiber_state* slot_pool::owner_of(std::uint32_t slot) const noexcept {
  fiber_state* const last = ready_.slots().fiber_at(slot);
  return last != nullptr && last->home == &owner_ ? last : nullptr;
}

std::uint32_t slot_pool::reserve_guest() noexcept {
  const std::scoped_lock lock{mutex_};
  std::vector<std::uint32_t>* const left = !bare_.empty()                       ? &bare_
                                           : used_ == ready_.slots().capacity() ? &free_
                                                                                : nullptr;
  if (left != nullptr && !left->empty()) {
    const std::uint32_t out = left->back();
    left->pop_back();
    return out;
  }
  if (left != nullptr) {
    // [fiber.full] seq_cst -> [fiber.is_full]: until a slot is left.
    is_full_.store(true, std::memory_order_seq_cst);
    return ready_bits::none;
  }
  try {
    // So that giving back needs no memory.
    if (bare_.capacity() <= used_) bare_.reserve(std::max(used_ * 2, 64U));
  } catch (const std::bad_alloc&) {
    return ready_bits::none;
  }
  ready_.use(used_);
  return used_++;
}

void slot_pool::leave_guest(std::uint32_t slot, const fiber_state* guest) noexcept {
  WEFT_ASSERT(guest == nullptr || guest->home != &owner_);
  const std::scoped_lock lock{mutex_};
  fiber_state* const owner = guest == nullptr ? owner_of(slot) : guest->lender;
  if (owner != nullptr) {
    ready_.slots().seat(slot, *owner);
    free_.push_back(slot);
  } else {
    bare_.push_back(slot);
  }
  note_room();
}

void slot_pool::expect_no_handles() noexcept {
  const auto is_free = [this] {
    const std::scoped_lock lock{mutex_};
    return held_ == 0;
  };
  const base::clock::time_point until = base::clock::now() + std::chrono::seconds{1};
  for (base::backoff waiting; !is_free(); waiting.pause()) {
    if (base::clock::now() > until) {
      base::misuse("a fiber scheduler is destroyed before an object of class fiber was joined or detached: join it");
    }
  }
}

}  // namespace weft::fibers
