#include "fiber/worker.hpp"

#include <cxxabi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "base/assertion.hpp"
#include "base/backoff.hpp"
#include "base/callback_scope.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/long_wait.hpp"
#include "base/misuse.hpp"
#include "base/of_fiber.hpp"
#include "weft/detail/zeroed_memory.hpp"
#include "weft/runtime.hpp"

namespace weft::fibers {
namespace {

thread_local constinit worker* this_worker = nullptr;  // of the thread

std::size_t bytes_of_slots(std::uint32_t count) noexcept {
  return std::size_t{count} * sizeof(std::atomic<fiber_state*>);
}

}  // namespace

// The next fiber whose bit was taken already; null: there is none.
[[gnu::always_inline]] inline fiber_state* worker::next() noexcept {
  while (ready_.has_taken()) {
    const std::uint32_t slot = ready_.take_next();
    // [fiber.seated] acquire <- [fiber.seat], [fiber.seat_guest], [fiber.seat_owner]: whose slot it is; a signal for a
    // fiber that has left it may be late.
    fiber_state* const out = slots_[slot].load(std::memory_order_acquire);
    // [fiber.may_run] acquire <- [fiber.start]: all that its function uses, where this is a signal for one that was
    // here before.
    if (out->location.load(std::memory_order_acquire) == location_of(slot)) [[likely]]
      return out;
    forward(*out);
  }
  return nullptr;
}

// The next fiber of a new round; null: it is time for progress, or for sleep.
[[gnu::noinline]] fiber_state* worker::refill() noexcept {
  do {
    if (switches_ >= switches_max) [[unlikely]] {
      switches_ = 0;
      return nullptr;
    }
    if (!ready_.refill()) return nullptr;
    switches_ += ready_.taken_count();
    if (fiber_state* const out = next(); out != nullptr) [[likely]]
      return out;
  } while (true);
}

[[gnu::noinline]] void worker::end_overrun(fiber_state& of) noexcept {
  has_overrun_ = true;
  of.at.end_for(own_);
}

// The last action on the stack that is left, so that the switch keeps all that is needed later.
template <worker::leaving How>
[[gnu::always_inline]] inline void worker::go(context& from, exception_globals& of, fiber_state& to) noexcept {
  running_ = &to;
  of = *exceptions_;
  *exceptions_ = to.exceptions;
  if constexpr (How == leaving::by_yield) {
    from.jump_to(to.at);
  } else {
    from.switch_to(to.at);
  }
}
void worker::go_back(fiber_state& from) noexcept {
  running_ = nullptr;
  from.exceptions = *exceptions_;
  *exceptions_ = own_exceptions_;
  from.at.switch_to(own_);
}

// Not inlined: its caller may have come to another thread since it last asked.
[[gnu::noinline]] worker* worker::here() noexcept { return this_worker; }

worker::worker(const fiber_scheduler_options& options, device* progress)
    : ready_{options.fibers_per_worker},
      slots_{
          static_cast<std::atomic<fiber_state*>*>(detail::allocate_zeroed(bytes_of_slots(options.fibers_per_worker)))},
      slots_max_{options.fibers_per_worker},
      progress_{progress},
      stacks_{options.stack_bytes, options.guarded_stacks} {
  if (slots_ == nullptr) throw std::bad_alloc{};
  if (progress_ != nullptr) alarm_.emplace(progress_->runtime());
}

worker::~worker() {
  WEFT_ASSERT(arriving_.is_empty() && offered_.is_empty());
  // [locked] by nothing: no other thread is left.
  for (const std::uint32_t slot : bare_) slots_[slot].store(nullptr, std::memory_order_relaxed);
  for (std::uint32_t slot = 0; slot < used_; ++slot) {
    fiber_state* const each = slots_[slot].load(std::memory_order_relaxed);  // [locked]
    if (each != nullptr) each->~fiber_state();
  }
  detail::release_zeroed(slots_, bytes_of_slots(slots_max_));
}

void worker::begin() {
  thread_ = std::thread{[this] { run(); }};
}

void worker::end() noexcept {
  // [fiber.stop] seq_cst -> [fiber.stops]: before the look for sleepers.
  stops_.store(true, std::memory_order_seq_cst);
  wake();
  if (thread_.joinable()) thread_.join();
  door_.close();
}

void worker::expect_no_handles() noexcept {
  if (copy_.is_copy()) return;
  const auto is_free = [this] {
    const std::scoped_lock lock{making_};
    return held_ == 0;
  };
  const base::clock::time_point until = base::clock::now() + std::chrono::seconds{1};
  for (base::backoff waiting; !is_free(); waiting.pause()) {
    if (base::clock::now() > until) {
      base::misuse("a fiber scheduler is destroyed before an object of class fiber was joined or detached: join it");
    }
  }
}

std::uint64_t count_alive(std::span<const std::unique_ptr<worker>> workers) noexcept {
  std::uint64_t ended = 0;
  for (const auto& each : workers) ended += each->ended();
  std::uint64_t begun = 0;
  for (const auto& each : workers) begun += each->begun();
  return begun - ended;
}

fiber_state* worker::make(std::size_t function_bytes, std::size_t alignment) {
  const std::scoped_lock lock{making_};
  fiber_state& out = free_.empty() ? make_slot() : *slots_[free_.back()].load(std::memory_order_relaxed);  // [locked]
  if (!free_.empty()) free_.pop_back();
  forget_frames(out.on.bottom, reinterpret_cast<std::byte*>(&out));
  auto function = reinterpret_cast<std::uintptr_t>(&out) - function_bytes;
  function -= function % std::max(alignment, std::size_t{16});
  out.function = reinterpret_cast<void*>(function);
  out.joiner.store(nullptr, std::memory_order_relaxed);  // [own] no other thread knows it yet
  out.thrown = nullptr;
  out.exceptions = {};
  out.waits_for.say({.call = "its first turn"});
  out.at.prepare(out.on.bottom, reinterpret_cast<std::byte*>(function), &run_fiber, &out);
  ++held_;
  begun_.store(begun_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // [locked] by `making_`
  return &out;
}

// A stack for a slot that has had none yet. Under `making_`.
fiber_state& worker::make_slot() {
  if (bare_.empty() && used_ == slots_max_) {
    throw error{errc::out_of_memory,
                "fiber_scheduler::spawn: a worker has as many fibers as `.fibers_per_worker` allows"};
  }
  const std::uint32_t slot = bare_.empty() ? used_ : bare_.back();
  // So that giving back needs no memory.
  if (free_.capacity() <= used_) free_.reserve(std::max(used_ * 2, 64U));
  const stacks::stack on = stacks_.make(slot);
  if (on.top == nullptr) {
    throw error{errc::out_of_memory, "fiber_scheduler::spawn: the system has no memory, or no mapping, for a stack"};
  }
  auto head = reinterpret_cast<std::uintptr_t>(on.top) - sizeof(fiber_state);
  head -= head % alignof(fiber_state);
  fiber_state& out = *::new (reinterpret_cast<void*>(head)) fiber_state;
  out.home = this;
  out.slot = slot;
  out.on = on;
  // [fiber.seat] release -> [fiber.seated]: its head.
  slots_[slot].store(&out, std::memory_order_release);
  if (bare_.empty()) {
    ready_.use(used_++);
  } else {
    bare_.pop_back();
  }
  return out;
}

void worker::run_fiber(void* state) {
  auto& me = *static_cast<fiber_state*>(state);
  me.at.arrived();
  try {
    me.call(me.function);
  } catch (...) {
    me.thrown = std::current_exception();
  }
  me.kept.end();
  worker::here()->leave_for_good(me);
}

void worker::leave_for_good(fiber_state& me) noexcept {
  check_stack(me);
  ended_ = &me;
  running_ = nullptr;
  *exceptions_ = own_exceptions_;
  me.at.end_for(own_);
}

void worker::finish(fiber_state& ended) noexcept {
  count(moves_);
  const std::uint32_t slot = slot_of(ended);
  settle(ended, 0);
  if (ended.home != this) leave_guest(slot, &ended);
  const bool has_thrown = ended.thrown != nullptr;
  worker& home = *ended.home;
  // [fiber.is_detached] acquire <- [fiber.detach]: the caller's stores before.
  const bool is_detached = ended.joiner.load(std::memory_order_acquire) == fiber_state::detached();
  if (is_detached && has_thrown) refuse_throwing_alone(ended.thrown);
  if (is_detached) home.release(ended);
  // [fiber.ended] release -> [fiber.alive]: the fiber's stores. [own] one thread counts.
  ended_count_.store(ended_count_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
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

void worker::release(fiber_state& ended) noexcept {
  ended.thrown = nullptr;
  const std::scoped_lock lock{making_};
  if (free_.size() >= warm_max) stacks_.release_pages(ended.on);
  free_.push_back(ended.slot);
  note_room();
  --held_;
}

// A slot has become free. Under `making_`.
void worker::note_room() noexcept {
  if (!is_full_.load(std::memory_order_relaxed)) [[likely]]  // [locked] it changes under the lock alone
    return;
  // [fiber.room] seq_cst -> [fiber.is_full], [fiber.has_room]: before the look whether it sleeps.
  is_full_.store(false, std::memory_order_seq_cst);
  wake_if_asleep();
}

void worker::make_ready(std::uint32_t slot) noexcept {
  if (this_worker == this) {
    ready_.set_own(slot);
    return;
  }
  ready_.set(slot);
  wake_if_asleep();
}

void worker::wake_if_asleep() noexcept {
  if (!sleeps_.is_asleep()) [[likely]]
    return;
  static_cast<void>(sleeps_.try_call());
  wake();
}

void worker::wake() noexcept {
  if (alarm_) {
    static_cast<void>(alarm_->signal(completion_record{}));
  } else {
    // [fiber.woken] release -> [fiber.before_sleep]: the wish alone; the bits order the work.
    woken_.fetch_add(1, std::memory_order_release);
    base::wake_all(woken_);
  }
}

template <worker::leaving How>
[[gnu::always_inline]] inline void worker::suspend_me(fiber_state& me) noexcept {
  check_stack(me);
  fiber_state* const to = next();
  if (to == nullptr) return suspend_at_end_of_word<How>(me);
  if (to != &me) go<How>(me.at, me.exceptions, *to);
}
template <worker::leaving How>
[[gnu::noinline]] void worker::suspend_at_end_of_word(fiber_state& me) noexcept {
  fiber_state* const to = refill();
  if (to == nullptr) return go_back(me);
  if (to != &me) go<How>(me.at, me.exceptions, *to);
}

void worker::suspend_running() noexcept {
  count(moves_);
  suspend_me<leaving::by_wait>(*running_);
}

void worker::suspend_running_for(const base::wait_note& note) noexcept {
  if (base::has_fiber_words()) [[unlikely]]
    return suspend_running_with_words(note);
  running_->waits_for.say(note);
  count(note.is_poll ? polls_ : moves_);
  suspend_me<leaving::by_wait>(*running_);
}

[[gnu::always_inline]] inline void worker::yield_running() noexcept {
  fiber_state& me = *running_;
  count(moves_);
  ready_.set_own(slot_of(me));
  suspend_me<leaving::by_yield>(me);
}

// Once they are taken along, no words are there.
[[gnu::noinline]] void worker::suspend_running_with_words(const base::wait_note& note) noexcept {
  const base::taken_along mine;
  WEFT_ASSERT(!base::has_fiber_words());
  suspend_running_for(note);
}
[[gnu::noinline]] void worker::yield_running_with_words() noexcept {
  if (base::callback_scope::is_inside()) {
    ::sched_yield();
    return;
  }
  const base::taken_along mine;
  yield_running();
}

void worker::run() noexcept {
  this_worker = this;
  base::serve_others();
  exceptions_ = reinterpret_cast<exception_globals*>(abi::__cxa_get_globals());
  use_suspender(this);
  base::words_of_fiber.are_foreign = false;
  thread_id_.store(::gettid(), std::memory_order_relaxed);  // [hint] for the watch
  // [fiber.stops] acquire <- [fiber.stop]: nothing but the wish itself.
  while (!stops_.load(std::memory_order_acquire)) {
    fiber_state* to = next();
    if (to == nullptr) to = refill();
    if (to != nullptr) {
      go<leaving::by_wait>(own_, own_exceptions_, *to);
      if (ended_ != nullptr) {
        finish(*std::exchange(ended_, nullptr));
        continue;
      }
      if (moving_ != nullptr) {
        moving_to_->take_in(*std::exchange(moving_, nullptr));
        continue;
      }
      if (has_overrun_ && is_copy()) break;
      if (has_overrun_) base::misuse("a fiber has overrun its stack: give fibers more by `.stack_bytes`");
    }
    // It is time for others, or nothing is ready.
    const bool has_moved = progress_ != nullptr && progress_->progress();
    if (take_up()) continue;
    if (to == nullptr) {
      idle();
    } else {
      rest_from_polls(has_moved);
    }
  }
  if (is_copy()) base::refuse_to_child("a fiber scheduler");
  use_suspender(nullptr);
  this_worker = nullptr;
}

// In a child whose one thread is this worker's: it may run its fiber to the end of a fork's work, but no other fiber,
// as the parent runs all of them. At its next switch that fiber is found out like one that has overrun its stack, so
// that switches need no check more.
void worker::become_copy() noexcept {
  if (this_worker != this) return;
  stops_.store(true, std::memory_order_relaxed);  // [own] the process has one thread
  if (running_ != nullptr) running_->mark = 0;
}

// Until there is something to run, or it is over. Makes progress meanwhile.
void worker::idle() noexcept {
  sleeps_.fall_asleep();
  // [fiber.stops] seq_cst <- [fiber.stop]: a thread that stops it after this look sees that it sleeps.
  const auto is_over = [this] {
    return !ready_.is_empty() || is_one_offered() || stops_.load(std::memory_order_seq_cst);
  };
  if (progress_ != nullptr) {
    progress_->wait(*alarm_, is_over);
  } else {
    for (int looks = 0; looks < 256 && !is_over(); ++looks) detail::std_atomics::pause();
    // [fiber.before_sleep] acquire <- [fiber.woken]: a thread that wakes it after this changes the word that it sleeps
    // at.
    const std::uint32_t before = woken_.load(std::memory_order_acquire);
    if (!is_over()) {
      base::sleep_while({&woken_, before}, {}, base::clock::now() + std::chrono::milliseconds{100});
    }
  }
  sleeps_.wake_up();
  // It runs its own first: another worker may have nothing to run.
  if (!ready_.is_empty()) call_another_for_rest();
}

// Where all that are ready look again and again for something that has not happened, as in `device::wait`, the thread
// sleeps after a while, until something moves; but not long, as their conditions may change without a signal.
void worker::rest_from_polls(bool has_moved) noexcept {
  const bool is_round_over = ready_.is_round_over();
  const std::uint64_t moves = moves_.load(std::memory_order_relaxed);  // [own]
  if (progress_ == nullptr || has_moved || moves != last_moves_) {
    last_moves_ = moves;
    rounds_in_vain_ = 0;
    return;
  }
  // In the middle of a round, fibers that are ready have not looked yet.
  if (!is_round_over || ++rounds_in_vain_ < rounds_before_rest) return;
  sleeps_.fall_asleep();
  const std::uint64_t before = progress_->counters().progress_moved;
  const auto is_over = [&] {
    // [fiber.stops] seq_cst <- [fiber.stop]: as in `idle`.
    return ready_.is_set_by_others() || is_one_offered() || stops_.load(std::memory_order_seq_cst) ||
           progress_->counters().progress_moved != before;
  };
  progress_->wait(*alarm_, is_over, {.timeout = rest_max, .spins = 0});
  sleeps_.wake_up();
  call_another_for_rest();
}

void* worker::current() noexcept {
  return running_ == nullptr ? nullptr : reinterpret_cast<void*>(std::uintptr_t{slot_of(*running_)} + 1);
}
void worker::suspend() noexcept { suspend_running_for(std::exchange(base::this_wait(), {.call = "something"})); }
void worker::resume(void* which) noexcept {
  make_ready(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(which) - 1));
}

}  // namespace weft::fibers

void weft::fiber_ref::signal() const noexcept {
  fibers::worker* const here = fibers::this_worker;
  if (here != nullptr && here->door().scheduler() == scheduler_) [[likely]] {
    home_->behind->make_ready(slot_);  // of the caller's scheduler, which waits for the caller
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
    here->yield_running_with_words();
  } else {
    ::sched_yield();
  }
}
