// A fiber can run on a worker that does not own its stack: that worker stole it before its first run, or it called
// `this_fiber::move_to`. Meanwhile it has a slot there. Its public slot stays that of its home worker, which forwards
// signals.
#include "fiber/inbox.hpp"
#include "fiber/worker.hpp"
#include "weft/error.hpp"

namespace weft::fibers {

void inbox::put(fiber_state& last) noexcept {
  const std::scoped_lock lock{mutex_};
  last.behind = nullptr;
  (last_ == nullptr ? first_ : last_->behind) = &last;
  last_ = &last;
  // [inbox.put] seq_cst -> [inbox.look]: before the look for sleeping workers.
  count_.fetch_add(1, std::memory_order_seq_cst);
}

fiber_state* inbox::take() noexcept {
  if (is_empty()) return nullptr;
  const std::scoped_lock lock{mutex_};
  fiber_state* const out = first_;
  if (out == nullptr) return nullptr;
  first_ = out->behind;
  if (first_ == nullptr) last_ = nullptr;
  count_.fetch_sub(1, std::memory_order_relaxed);  // [hint] a worker that reads the old number finds nothing
  return out;
}

// Notes where the fiber is now, or that it is nowhere. Under the lock, so that a thread that forwards a signal
// meanwhile reaches the fiber where it is.
void worker::settle(fiber_state& moved, std::uint64_t location) noexcept {
  const std::scoped_lock lock{moved.home->making_};
  // [fiber.start] release -> [fiber.may_run]: all that its function uses, at its start and after a move.
  moved.location.store(location, std::memory_order_release);
}

// A signal for a fiber that runs elsewhere now, or has ended. Stores before the signal are seen
// there: by the thread that moves it, as both take the lock, or by its next worker, by the bit.
[[gnu::noinline]] void worker::forward(fiber_state& elsewhere) noexcept {
  const std::scoped_lock lock{elsewhere.home->making_};
  const std::uint64_t location =
      elsewhere.location.load(std::memory_order_relaxed);  // [locked] it changes under the lock alone
  if (location != 0) all_[(location >> 32) - 1]->make_ready(static_cast<std::uint32_t>(location));
}

void worker::start(fiber_state& made, bool may_go) noexcept {
  if (!may_go || !steals_) {
    settle(made, location_of(made.slot));
    make_ready(made.slot);
    return;
  }
  offered_.put(made);
  call_another();
}

bool worker::call_another() noexcept {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    worker& each = *all_[(index_ + i) % all_.size()];
    // [fiber.has_room] seq_cst <- [fiber.room], [fiber.full]: a worker that gets room later looks for itself.
    if (each.is_full_.load(std::memory_order_seq_cst) && each.offered_.is_empty()) continue;
    if (!each.sleeps_.try_call()) continue;
    each.wake();
    return true;
  }
  return false;
}

// By a worker that has begun a fiber, or that runs others first: a sleeping worker may begin a fiber that is still
// offered. False: nothing is, or none sleeps.
bool worker::call_another_for_rest() noexcept {
  if (!steals_) return false;
  for (const auto& each : all_) {
    if (!each->offered_.is_empty()) return call_another();
  }
  return false;
}

void worker::move_running_to(std::uint32_t index) {
  if (index >= all_.size()) throw error{errc::invalid_argument, "this_fiber::move_to: there is no such worker"};
  worker& other = *all_[index];
  if (&other == this) return;
  fiber_state& me = *running_;
  std::uint32_t slot = me.slot;
  if (me.home != &other) {
    slot = other.reserve_guest();
    if (slot == ready_bits::none) {
      throw error{errc::out_of_memory, "this_fiber::move_to: that worker has as many fibers as it can"};
    }
  }
  check_stack(me);
  me.next_slot = slot;
  const std::uint32_t left = slot_of(me);
  settle(me, 0);  // signals sent during the move are dropped: the fiber tests its condition again when it resumes
  if (me.home != this) leave_guest(left, &me);
  moving_ = &me;
  moving_to_ = &other;
  count(moves_);
  go_back(me);
}

// By the worker that it left.
void worker::take_in(fiber_state& moved) noexcept {
  arriving_.put(moved);
  wake_if_asleep();
}

// Whether something may run here now that could not before.
bool worker::take_up() noexcept {
  bool has_any = false;
  while (fiber_state* const each = arriving_.take()) {
    seat(*each, each->next_slot);
    has_any = true;
  }
  // As many as are run between two looks, so that fibers that run already keep their share; but while other workers
  // sleep, each begins one.
  for (unsigned count = 0; count < switches_max && begin_one_of(*this); ++count) {
    has_any = true;
    if (call_another_for_rest()) return true;
  }
  for (std::size_t i = 1; steals_ && !has_any && i < all_.size(); ++i) {
    has_any = begin_one_of(*all_[(index_ + i) % all_.size()]);
    if (has_any) call_another_for_rest();
  }
  return has_any;
}

bool worker::begin_one_of(worker& other) noexcept {
  if (other.offered_.is_empty()) return false;
  if (&other != this && is_full_.load(std::memory_order_relaxed)) return false;  // [hint] asked again under the lock
  const std::uint32_t guest = &other == this ? ready_bits::none : reserve_guest();
  if (&other != this && guest == ready_bits::none) {
    call_another_for_rest();  // this one may have been called for it
    return false;
  }
  fiber_state* const begun = other.offered_.take();
  if (begun == nullptr) {
    if (guest != ready_bits::none) leave_guest(guest, nullptr);
    return false;
  }
  seat(*begun, guest == ready_bits::none ? begun->slot : guest);
  return true;
}

void worker::seat(fiber_state& here, std::uint32_t slot) noexcept {
  {
    const std::scoped_lock lock{making_};
    here.lender = here.home == this ? nullptr : owner_of(slot);
    // [fiber.seat_guest] release -> [fiber.seated]: by the worker itself.
    slots_[slot].store(&here, std::memory_order_release);
  }
  settle(here, location_of(slot));
  ready_.set_own(slot);
}

bool worker::is_one_offered() const noexcept {
  if (!arriving_.is_empty()) return true;
  if (!offered_.is_empty()) return true;
  // [fiber.is_full] seq_cst <- [fiber.room], [fiber.full]: a thread that leaves a slot after this look sees that the
  // worker sleeps.
  if (!steals_ || is_full_.load(std::memory_order_seq_cst)) return false;
  for (const auto& each : all_) {
    if (!each->offered_.is_empty()) return true;
  }
  return false;
}

// The fiber with its stack here that `slot` is of, or null. Under `making_`.
fiber_state* worker::owner_of(std::uint32_t slot) const noexcept {
  fiber_state* const last = slots_[slot].load(std::memory_order_relaxed);  // [locked]
  return last != nullptr && last->home == this ? last : nullptr;
}

// A slot for a fiber that has its stack elsewhere, or none: at best one that has no stack, at last one whose stack is
// free. **Threads**: any.
std::uint32_t worker::reserve_guest() noexcept {
  const std::scoped_lock lock{making_};
  std::vector<std::uint32_t>* const left = !bare_.empty() ? &bare_ : used_ == slots_max_ ? &free_ : nullptr;
  if (left != nullptr && !left->empty()) {
    const std::uint32_t out = left->back();
    left->pop_back();
    return out;
  }
  if (left != nullptr) {
    // [fiber.full] seq_cst -> [fiber.is_full], [fiber.has_room]: until a slot is left.
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

// By this worker: the fiber that had the slot has left. Null: none came.
void worker::leave_guest(std::uint32_t slot, const fiber_state* guest) noexcept {
  const std::scoped_lock lock{making_};
  fiber_state* const owner = guest == nullptr ? owner_of(slot) : guest->lender;
  if (owner != nullptr) {
    // [fiber.seat_owner] release -> [fiber.seated]: by the worker itself.
    slots_[slot].store(owner, std::memory_order_release);
    free_.push_back(slot);
  } else {
    bare_.push_back(slot);
  }
  note_room();
}

}  // namespace weft::fibers
