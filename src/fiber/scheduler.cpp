// SPDX-License-Identifier: BSD-3-Clause
// The public classes, joined to the workers.
#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "base/assertion.hpp"
#include "base/backoff.hpp"
#include "base/callback_scope.hpp"
#include "base/clock.hpp"
#include "base/exception_text.hpp"
#include "base/leave_to_parent.hpp"
#include "base/log.hpp"
#include "base/misuse.hpp"
#include "base/of_fiber.hpp"
#include "core/door/door.hpp"
#include "fiber/fiber_witness.hpp"
#include "fiber/watch.hpp"
#include "fiber/worker.hpp"
#include "weft/fiber.hpp"

namespace weft {
namespace fibers {

class scheduler {
 public:
  explicit scheduler(const fiber_scheduler_options& options) {
    for (std::uint32_t i = 0; i < options.workers; ++i) {
      device* const progress = options.devices.empty() ? nullptr : options.devices[i % options.devices.size()];
      all.push_back(std::make_unique<worker>(options, progress));
    }
    for (device* const each : options.devices.first(std::min<std::size_t>(options.devices.size(), options.workers))) {
      served.emplace_back(*each->state_);
    }
    const std::uint32_t number = next_scheduler_number();
    for (std::uint32_t i = 0; i < options.workers; ++i) {
      all[i]->meet(all, i, number, options.steal && options.workers > 1);
    }
    try {
      for (const auto& each : all) each->begin();
      if (options.report_stuck_after.count() > 0) stuck.emplace(all, options.report_stuck_after);
    } catch (...) {
      stop();
      throw;
    }
    try {
      witness.emplace(std::span<const std::unique_ptr<worker>>{all}, !options.devices.empty());
    } catch (...) {
      stuck.reset();
      stop();
      throw;
    }
  }
  ~scheduler() {
    witness.reset();
    stuck.reset();
    stop();
    for (const auto& each : all) {
      if (!each->is_copy()) each->slots().expect_no_handles();
    }
  }
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  static fiber_ref ref_of(worker& home, std::uint32_t slot) noexcept {
    fiber_ref out;
    out.home_ = &home.door().get();
    out.slot_ = slot;
    out.scheduler_ = home.door().scheduler();
    return out;
  }

  std::vector<std::unique_ptr<worker>> all;
  std::deque<core::door::service> served;
  std::atomic<std::uint32_t> next_worker{0};
  std::optional<watch> stuck;
  std::optional<fiber_witness> witness;
  detail::copy_mark copy;

 private:
  void stop() noexcept {
    for (const auto& each : all) each->end();
  }
};

}  // namespace fibers

namespace {

const fiber_scheduler_options& checked(const fiber_scheduler_options& options) {
  const auto refuse = [](const char* why) { throw error{errc::invalid_argument, why}; };
  if (!fibers::has_switch) {
    throw error{errc::invalid_state, "fiber_scheduler: switching stacks is written for x86-64 and ARM64 alone"};
  }
  if (options.workers == 0 || options.workers > 4096) refuse("fiber_scheduler: `.workers` is from 1 to 4096");
  if (options.fibers_per_worker == 0 || options.fibers_per_worker > 1U << 24) {
    refuse("fiber_scheduler: `.fibers_per_worker` is from 1 to 16777216");
  }
  if (options.stack_bytes < std::size_t{16} << 10 || options.stack_bytes > std::size_t{1} << 30) {
    refuse("fiber_scheduler: `.stack_bytes` is from 16 KiB to 1 GiB");
  }
  if (options.report_stuck_after.count() < 0) refuse("fiber_scheduler: `.report_stuck_after` is not negative");
  for (std::size_t i = 0; i < options.devices.size(); ++i) {
    if (options.devices[i] == nullptr) refuse("fiber_scheduler: a device is null");
    if (!options.devices[i]->is_shared() && (options.steal || options.workers > options.devices.size())) {
      refuse(
          "fiber_scheduler: a device of one thread's own is given to several workers, or to some that steal: make "
          "it with .shared = true");
    }
  }
  return options;
}

constexpr const char* joined_in_callback =
    "a fiber's handle is destroyed inside a handler, a hook or a node of a graph before the fiber has ended: join it "
    "outside, or detach it";

[[nodiscard]] bool is_over(const fibers::fiber_state& joined) noexcept {
  // [fiber.is_over] acquire <- [fiber.end]: its stores; nothing is left to wait for.
  return joined.joiner.load(std::memory_order_acquire) == fibers::fiber_state::over();
}

// Makes `end` the waiter of the fiber. False: it has ended.
[[nodiscard]] bool try_await_end(fibers::fiber_state& joined, base::waiter& end) noexcept {
  base::waiter* nobody = nullptr;
  // [fiber.join] acq_rel <-> [fiber.end]: the fiber's stores; and the waiter.
  return joined.joiner.compare_exchange_strong(nobody, &end, std::memory_order_acq_rel, std::memory_order_acquire);
}

// False: a limit was reached first, and the fiber has no waiter any more.
[[nodiscard]] bool wait_for_end(fibers::fiber_state& joined, const wait_limits& limits) {
  if (is_over(joined)) return true;
  base::waiter end;
  const base::limit_watch until{end, limits};
  if (!try_await_end(joined, end) || end.wait({"fiber::join"}, until)) return true;
  base::waiter* me = &end;
  // [fiber.leave_join] relaxed: it carries nothing; the end of the fiber finds the waiter, or none.
  if (joined.joiner.compare_exchange_strong(me, nullptr, std::memory_order_relaxed)) return false;
  end.wait({"fiber::join"});  // the fiber has ended just now, and wakes the caller
  return true;
}

// Called after the fiber has ended.
void take_end(fibers::fiber_state& joined) {
  WEFT_ASSERT(is_over(joined));
  const std::exception_ptr thrown = std::exchange(joined.thrown, nullptr);
  joined.home->slots().release(joined);
  if (thrown) std::rethrow_exception(thrown);
}

void join_now(fibers::fiber_state& joined) {
  base::waiter end;
  if (try_await_end(joined, end)) end.wait({"fiber::join"});
  take_end(joined);
}

void check_join(const fibers::fiber_state* joined) {
  if (joined == nullptr) throw error{errc::invalid_state, "fiber::join: there is no fiber, or it was joined before"};
  if (joined->home->is_copy()) base::refuse_to_child("a fiber");
  base::refuse_in_callback("fiber::join");
}

// An exception leaves the scope of a fiber's handle. The fiber may never end: then the exception never reaches its
// handler, and this line alone has its text.
void log_exception(const fibers::fiber_state& joined) noexcept {
  if (is_over(joined)) return;
  base::log_warn("an exception waits for the end of a fiber, whose handle is in a scope that it leaves: {}",
                 base::exception_text());
}

// An exception leaves the scope of the scheduler.
void wait_for_detached(const fiber_scheduler& scheduler) noexcept {
  const auto until = base::clock::now() + std::chrono::seconds{1};
  for (base::backoff waiting; scheduler.alive() != 0 && base::clock::now() < until;) base::yield_or_pause(waiting);
}

}  // namespace

fiber_scheduler::fiber_scheduler(const fiber_scheduler_options& options)
    : state_{std::make_unique<fibers::scheduler>(checked(options))} {}

fiber_scheduler::~fiber_scheduler() {
  if (state_->copy.is_copy()) {
    base::leave_to_parent(state_);
    return;
  }
  if (base::is_unwinding()) wait_for_detached(*this);
  if (alive() != 0) base::misuse("a fiber scheduler is destroyed before a fiber has ended: join it");
}

std::uint64_t fiber_scheduler::alive() const noexcept { return fibers::count_alive(state_->all); }
std::uint32_t fiber_scheduler::workers() const noexcept { return static_cast<std::uint32_t>(state_->all.size()); }

fiber_scheduler::begun fiber_scheduler::prepare(const fiber_options& options, std::size_t bytes,
                                                std::size_t alignment) {
  if (state_->copy.is_copy()) base::refuse_to_child("a fiber scheduler");
  const auto count = static_cast<std::uint32_t>(state_->all.size());
  std::uint32_t index = options.worker;
  const bool is_any = index == fiber_options::any_worker;
  if (is_any) {
    index = state_->next_worker.fetch_add(1, std::memory_order_relaxed) % count;  // [hint] any worker will do
  } else if (index >= count) {
    throw error{errc::invalid_argument, "fiber_scheduler::spawn: there is no such worker"};
  }
  for (std::uint32_t tries = 1;; ++tries, index = (index + 1) % count) {
    try {
      fibers::fiber_state* const made = state_->all[index]->slots().make(bytes, alignment);
      return {made, made->function, is_any};
    } catch (const error&) {
      if (!is_any || tries == count) throw;
    }
  }
}

fiber fiber_scheduler::start(const begun& begin, void (*call)(void*)) noexcept {
  begin.state->call = call;
  begin.state->home->start(*begin.state, begin.may_go);
  return fiber{begin.state};
}

fiber& fiber::operator=(fiber&& other) noexcept {
  if (this != &other) {
    fiber ended{std::move(*this)};
    state_ = std::exchange(other.state_, nullptr);
  }
  return *this;
}

fiber::~fiber() {
  if (state_ == nullptr || state_->home->is_copy()) return;
  if (base::callback_scope::is_inside() && !is_over(*state_)) base::misuse(joined_in_callback);
  if (base::is_unwinding()) log_exception(*state_);
  try {
    join_now(*std::exchange(state_, nullptr));
  } catch (const std::exception& lost) {
    base::log_error("a fiber threw what nobody has asked for by join(): {}", lost.what());
  } catch (...) {
    base::log_error("a fiber threw what nobody has asked for by join()");
  }
}

void fiber::join() {
  check_join(state_);
  join_now(*std::exchange(state_, nullptr));
}

bool fiber::join(const wait_limits& limits) {
  check_join(state_);
  if (!wait_for_end(*state_, limits)) return false;
  take_end(*std::exchange(state_, nullptr));
  return true;
}

void fiber::detach() noexcept {
  if (state_ == nullptr) return;
  fibers::fiber_state& left = *std::exchange(state_, nullptr);
  if (left.home->is_copy()) return;
  base::waiter* none = nullptr;
  // [fiber.detach] acq_rel <-> [fiber.end], [fiber.is_detached]: the one that comes second releases the fiber.
  if (left.joiner.compare_exchange_strong(none, fibers::fiber_state::detached(), std::memory_order_acq_rel,
                                          std::memory_order_acquire)) {
    return;
  }
  if (left.thrown != nullptr) fibers::refuse_throwing_alone(left.thrown);
  left.home->slots().release(left);
}

fiber_ref fiber::ref() const noexcept {
  return state_ == nullptr ? fiber_ref{} : fibers::scheduler::ref_of(*state_->home, state_->slot);
}

namespace this_fiber {

namespace {
// The worker that runs the calling fiber. **Errors**: invalid_state with this text: the caller is a thread.
fibers::worker& worker_of_caller(const char* refusal) {
  fibers::worker* const here = fibers::worker::here();
  if (here == nullptr || here->running() == nullptr) [[unlikely]]
    throw error{errc::invalid_state, refusal};
  return *here;
}
}  // namespace

bool is_one() noexcept {
  const fibers::worker* const here = fibers::worker::here();
  return here != nullptr && here->running() != nullptr;
}

fiber_ref self() noexcept {
  if (!is_one()) return {};
  const fibers::fiber_state& me = *fibers::worker::here()->running();
  return fibers::scheduler::ref_of(*me.home, me.slot);
}

void move_to(std::uint32_t worker) {
  base::refuse_in_callback("this_fiber::move_to");
  fibers::worker& here = worker_of_caller("this_fiber::move_to: the caller is a thread, not a fiber");
  const base::taken_along mine;
  here.move_running_to(worker);
}

void wait() {
  base::refuse_in_callback("this_fiber::wait");
  worker_of_caller("this_fiber::wait: the caller is a thread, not a fiber")
      .suspend_running_for({.call = "this_fiber::wait"});
}

bool wait(const wait_limits& limits) {
  base::refuse_in_callback("this_fiber::wait");
  fibers::worker& here = worker_of_caller("this_fiber::wait: the caller is a thread, not a fiber");
  base::waiter me;
  const base::limit_watch until{me, limits};
  if (until.is_reached()) return false;
  here.suspend_running_for({.call = "this_fiber::wait"});
  return !until.is_reached();
}

void sleep_for(std::chrono::nanoseconds time) { static_cast<void>(sleep_for(time, {})); }

bool sleep_for(std::chrono::nanoseconds time, const std::stop_token& stop) {
  base::refuse_in_callback("this_fiber::sleep_for");
  base::waiter never;
  const base::limit_watch until{never, {.timeout = time, .stop = stop}};
  static_cast<void>(never.wait({"this_fiber::sleep_for"}, until));
  return !stop.stop_requested();
}

}  // namespace this_fiber
}  // namespace weft
