// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/worker.hpp"

#include <sched.h>
#include <unistd.h>

#include <exception>
#include <utility>

#include "base/assertion.hpp"
#include "base/callback_scope.hpp"
#include "base/long_wait.hpp"
#include "base/misuse.hpp"
#include "base/of_fiber.hpp"
#include "base/waiter.hpp"
#include "weft/error.hpp"

namespace weft::fibers {
namespace {

thread_local constinit worker* this_worker = nullptr;  // variable of the thread

// Once they are taken along, no words are there.
[[gnu::noinline]] void suspend_with_words(worker& here, const base::wait_note& note) noexcept {
  const base::taken_along mine;
  WEFT_ASSERT(!base::has_fiber_words());
  here.suspend_running_for(note);
}

}  // namespace

// Not inlined: its caller may have come to another thread since it last asked.
[[gnu::noinline]] worker* worker::here() noexcept { return this_worker; }

worker::worker(const fiber_scheduler_options& options, device* progress)
    : ready_{options.fibers_per_worker}, sleep_{progress}, slots_{options, *this, ready_, sleep_} {}

void worker::meet(std::span<const std::unique_ptr<worker>> all, std::uint32_t index, std::uint32_t scheduler,
                  bool steals) noexcept {
  WEFT_ASSERT(!thread_.joinable() && index < all.size() && all[index].get() == this);
  door_.open(scheduler);
  ready_.slots().use_index(index);
  stealing_.meet(all, index, steals);
}

void worker::begin() {
  thread_ = std::thread{[this] { run(); }};
}

void worker::end() noexcept {
  sleep_.stop();
  if (thread_.joinable()) thread_.join();
  door_.close();
}

std::uint64_t count_alive(std::span<const std::unique_ptr<worker>> workers) noexcept {
  std::uint64_t ended = 0;
  for (const auto& each : workers) ended += each->done().ended();
  std::uint64_t begun = 0;
  for (const auto& each : workers) begun += each->slots().begun();
  return begun - ended;
}

void run_fiber(void* state) {
  auto& me = *static_cast<fiber_state*>(state);
  me.registers.arrived();
  try {
    me.call(me.function);
  } catch (...) {
    me.thrown = std::current_exception();
  }
  me.kept.end();
  worker::here()->switches().end(me);
}

void worker::finish(fiber_state& ended) noexcept {
  done_.count_move();
  sleep_.expect(nullptr);
  const std::uint32_t slot = ended.slot_here();
  WEFT_ASSERT(ready_.slots().fiber_at(slot) == &ended);
  slot_pool& home = ended.home->slots();
  home.settle(ended, 0);
  if (&home != &slots_) slots_.leave_guest(slot, &ended);
  const bool has_thrown = ended.thrown != nullptr;
  // [fiber.is_detached] acquire <- [fiber.detach]: the caller's stores before.
  const bool is_detached = ended.joiner.load(std::memory_order_acquire) == fiber_state::detached();
  if (is_detached && has_thrown) refuse_throwing_alone(ended.thrown);
  if (is_detached) home.release(ended);
  done_.count_end();
  if (is_detached) return;
  // [fiber.end] acq_rel <-> [fiber.join], [fiber.detach], [fiber.is_over]: its stores; and the waiter. A handle that
  // finds this may release the fiber.
  base::waiter* const joiner = ended.joiner.exchange(fiber_state::over(), std::memory_order_acq_rel);
  if (joiner == nullptr) return;
  if (joiner != fiber_state::detached()) return joiner->come();
  if (has_thrown) refuse_throwing_alone(ended.thrown);
  home.release(ended);
}

void refuse_throwing_alone(const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (...) {  // the line has its text
    base::misuse("a fiber that nobody joins threw an exception, which can be handed to nobody: it must not throw");
  }
}

void worker::start(fiber_state& made, bool may_go) noexcept {
  if (may_go && stealing_.is_on()) return stealing_.offer(made);
  slots_.settle(made, ready_.slots().location_of(made.slot));
  make_ready(made.slot);
}

void worker::make_ready(std::uint32_t slot) noexcept {
  if (this_worker == this) {
    ready_.set_own(slot);
    return;
  }
  ready_.set(slot);
  sleep_.wake_if_asleep();
}

template <switching::leaving How>
[[gnu::always_inline]] inline void worker::suspend_me(fiber_state& me) noexcept {
  switching::check_stack(me);
  fiber_state* const to = ready_.next();
  if (to == nullptr) return suspend_at_end_of_word<How>();
  if (to != &me) switching_.go<How>(me, *to);
}
template <switching::leaving How>
[[gnu::noinline]] void worker::suspend_at_end_of_word() noexcept {
  fiber_state* const to = ready_.refill();
  fiber_state& me = *running();
  if (to == nullptr) return switching_.go_back(me);
  if (to != &me) switching_.go<How>(me, *to);
}

void worker::suspend_running_for(const base::wait_note& note) noexcept {
  if (base::has_fiber_words()) [[unlikely]]
    return suspend_with_words(*this, note);
  fiber_state& me = *running();
  me.waits_for.say(note);
  sleep_.expect(note.device);
  done_.count_wait(note.is_poll);
  suspend_me<switching::leaving::by_wait>(me);
}

[[gnu::always_inline]] inline void worker::yield_running() noexcept {
  fiber_state& me = *running();
  done_.count_move();
  ready_.set_own(me.slot_here());
  suspend_me<switching::leaving::by_yield>(me);
}

namespace {
[[gnu::noinline]] void yield_with_words(worker& here) noexcept {
  if (base::callback_scope::is_inside()) {
    ::sched_yield();
    return;
  }
  const base::taken_along mine;
  here.yield_running();
}
}  // namespace

void worker::move_running_to(std::uint32_t index) {
  const std::span<const std::unique_ptr<worker>> all = stealing_.workers();
  if (index >= all.size()) throw error{errc::invalid_argument, "this_fiber::move_to: there is no such worker"};
  worker& other = *all[index];
  if (&other == this) return;
  fiber_state& me = *running();
  switching::check_stack(me);
  moves_.leave(me, other);
  sleep_.expect(nullptr);
  done_.count_move();
  switching_.go_back(me);
}

void worker::run() noexcept {
  this_worker = this;
  base::serve_others();
  switching_.use_this_thread();
  use_suspender(this);
  base::words_of_fiber.are_foreign = false;
  done_.use_thread(::gettid());
  while (!sleep_.is_stopped()) {
    fiber_state* to = ready_.next();
    if (to == nullptr) to = ready_.refill();
    if (to != nullptr) {
      switching_.run(*to);
      if (fiber_state* const ended = switching_.take_ended(); ended != nullptr) {
        finish(*ended);
        continue;
      }
      if (moves_.hand_over()) continue;
      if (switching_.has_overrun() && is_copy()) break;
      if (switching_.has_overrun()) base::misuse("a fiber has overrun its stack: give fibers more by `.stack_bytes`");
    }
    // It is time for others, or nothing is ready.
    const bool has_progressed = sleep_.progress();
    const bool has_arrivals = moves_.seat_arrivals();
    if (stealing_.begin_offered(has_arrivals) || has_arrivals) continue;
    if (to == nullptr) {
      sleep_.sleep_until([this] { return !ready_.is_empty() || has_guests(); });
      // It runs its own first: another worker may have nothing to run.
      if (!ready_.is_empty()) stealing_.call_another_for_rest();
    } else if (sleep_.is_rest_due(has_progressed, done_.moves(), ready_.is_round_over())) {
      sleep_.rest_until([this] { return ready_.is_set_by_others() || has_guests(); });
      stealing_.call_another_for_rest();
    }
  }
  if (is_copy()) base::refuse_to_child("a fiber scheduler");
  use_suspender(nullptr);
  this_worker = nullptr;
}

// Prepares a child whose one thread is this worker's: it may run its fiber to the end of a fork's work, but no other
// fiber, as the parent runs all of them. At its next switch that fiber is found out like one that has overrun its
// stack, so that switches need no check more.
void worker::become_copy() noexcept {
  if (this_worker != this) return;
  sleep_.stop_copy();
  if (running() != nullptr) running()->mark = 0;
}

void* worker::current() noexcept {
  return running() == nullptr ? nullptr : reinterpret_cast<void*>(std::uintptr_t{running()->slot_here()} + 1);
}
void worker::suspend() noexcept { suspend_running_for(std::exchange(base::this_wait(), {.call = "something"})); }
void worker::resume(void* which) noexcept {
  make_ready(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(which) - 1));
}

}  // namespace weft::fibers

void weft::fiber_ref::signal() const noexcept {
  fibers::worker* const here = fibers::this_worker;
  if (here != nullptr && here->door().scheduler() == scheduler_) [[likely]] {
    home_->behind->make_ready(slot_);  // a worker of the caller's scheduler, which waits for the caller
  } else if (home_ != nullptr) {
    if (!home_->try_enter(scheduler_)) return;
    home_->behind->make_ready(slot_);
    home_->leave();
  }
}

void weft::this_fiber::yield() noexcept {
  fibers::worker* const here = fibers::this_worker;
  if (here != nullptr && here->running() != nullptr) [[likely]] {
    if (!base::has_fiber_words()) [[likely]]
      return here->yield_running();
    fibers::yield_with_words(*here);
  } else {
    ::sched_yield();
  }
}
