// SPDX-License-Identifier: BSD-3-Clause
// Run loops: looking, running, sleeping.
#include "weft/run_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

#include "base/callback_scope.hpp"
#include "base/clock.hpp"
#include "base/counted.hpp"
#include "base/exception_text.hpp"
#include "base/leave_to_parent.hpp"
#include "base/misuse.hpp"
#include "base/not_inherited.hpp"
#include "base/this_wait.hpp"
#include "core/door/door.hpp"
#include "coro/run_loop_state.hpp"
#include "weft/runtime.hpp"

namespace weft::core {
namespace {

constexpr const char* still_awaited =
    "a run loop is destroyed while coroutines wait for something of it: run it until they have ended, or cancel and "
    "destroy them before";

// Operations that are refused in one look, before it gives up until the next one.
constexpr unsigned refusals_max = 64;

}  // namespace

// The events that wake a thread which sleeps in a loop.
struct run_loop_state::sleep {
  static constexpr std::size_t objects_max = 16;
  std::array<const completion*, objects_max> objects{};
  std::size_t object_count = 0;
  std::uint64_t watched_since = 0;
  bool is_restless = false;  // there is something to be tried again
  bool is_crowded = false;   // a condition has no object that wakes a sleeper, or there are too many objects
};

// Frames of abandoned tasks may still be here; events of this loop may lie in them.
run_loop_state::~run_loop_state() {
  witness_.reset();
  if (base::is_unwinding()) end_tasks();
  if (spawned() != 0 || promise::open(local_) != 0) detail::await_misuse(still_awaited);
  drop_abandoned(to_post_.first);
  drop_abandoned(unwanted_.take_all());
  drop_abandoned(to_cancel_.first);
  drop_abandoned(refused_.take_all());
  drop_abandoned(coming_.take_all());
  for (const watched& group : watched_) drop_abandoned(group.waiting.first);
  while (!ready_.is_empty()) drop_abandoned(ready_.take_all());
  // [own] the thread that destroys the loop has seen the ends of its events.
  if (events.load(std::memory_order_relaxed) != 0) {
    detail::await_misuse("a run loop is destroyed before an event that was made for it");
  }
}

void run_loop_state::drop_abandoned(ready_node* all) noexcept {
  while (all != nullptr) {
    ready_node& node = *all;
    all = node.behind;
    if (!node.is_abandoned) detail::await_misuse(still_awaited);
    node.let_go();
  }
}

completion::answer run_loop_state::local_completion::signal(completion_record&& record) noexcept {
  auto& waiting = *static_cast<detail::posting*>(record.context());
  if (waiting.complete(std::move(record))) loop_->ready_.add(waiting);
  return answer::taken;
}

void run_loop_state::make_ready(ready_node& node) noexcept {
  weft::runtime& rt = device_->runtime();
  const completion* const local = &local_;
  ready_.add(node);
  wake(rt, local);
}

void run_loop_state::make_all_ready(ready_node* first) noexcept {
  while (first != nullptr) {
    ready_node& node = *first;
    first = node.behind;
    make_ready(node);
  }
}

void run_loop_state::post_later(detail::posting& posting) noexcept {
  weft::runtime& rt = device_->runtime();
  const completion* const local = &local_;
  refused_.add(posting);
  wake(rt, local);
}

void run_loop_state::watch(detail::watching& condition) noexcept {
  weft::runtime& rt = device_->runtime();
  const completion* const local = &local_;
  coming_.add(condition);
  wake(rt, local);
}

void run_loop_state::cancel_later(detail::stoppable& operation) noexcept {
  weft::runtime& rt = device_->runtime();
  const completion* const local = &local_;
  unwanted_.add(operation);
  wake(rt, local);
}

void run_loop_state::look_again() noexcept {
  // [run_loop.look_again] release -> [run_loop.looked_again]: the waits given up.
  stops_.store(true, std::memory_order_release);
  wake(device_->runtime(), &local_);
}

void run_loop_state::set(std::atomic<bool>& flag) noexcept {
  weft::runtime& rt = device_->runtime();
  const completion* const local = &local_;
  // [run_loop.end] release -> [run_loop.ended]: the task's stores. Task and loop may be destroyed from here on.
  flag.store(true, std::memory_order_release);
  wake(rt, local);
}

void run_loop_state::spawn(std::coroutine_handle<detail::task_promise<void>> coroutine) {
  coroutine.promise().start(coroutine, nullptr, this);
  keep(coroutine.promise());
  // [run_loop.spawn] relaxed: the task itself is handed over by the ready queue.
  spawned_.fetch_add(1, std::memory_order_relaxed);
  make_ready(coroutine.promise());
}

void run_loop_state::ended(detail::task_promise_base& promise) noexcept {
  std::exception_ptr failure = std::move(promise.failure);
  forget(promise);
  promise.handle.destroy();
  if (failure) {
    const std::scoped_lock lock{failures_mutex_};
    failures_.push_back(std::move(failure));
    // [run_loop.fail] relaxed: the mutex hands them over; that one is there is seen by [run_loop.over].
    has_failures_.store(true, std::memory_order_relaxed);
  }
  weft::runtime& rt = device_->runtime();
  const completion* const local = &local_;
  // [run_loop.over] acq_rel -> [run_loop.spawned]: the task's stores. The loop may be destroyed from here on.
  const std::size_t before = spawned_.fetch_sub(1, std::memory_order_acq_rel);
  WEFT_ASSERT_CHECKED(before != 0);
  if (before == 1) wake(rt, local);
}

void run_loop_state::rethrow() {
  // [hint] after the end of all tasks it is exact, by [run_loop.spawned].
  if (!has_failures_.load(std::memory_order_relaxed)) return;
  std::exception_ptr first;
  {
    const std::scoped_lock lock{failures_mutex_};
    if (failures_.empty()) return;
    first = std::move(failures_.front());
    failures_.erase(failures_.begin());
    has_failures_.store(!failures_.empty(), std::memory_order_relaxed);  // [locked]
  }
  std::rethrow_exception(std::move(first));
}

bool run_loop_state::look() noexcept {
  if (!looking_.try_enter()) return false;  // then another thread does it
  // [run_loop.cancels] acquire <- [run_loop.cancel]: the stores of the thread that cancels.
  if (cancels_.load(std::memory_order_acquire) && cancels_.exchange(false, std::memory_order_acquire)) cancel_waits();
  post_all_again();
  cancel_all_again();
  const bool has_to_repeat = has_to_try_again();
  if (has_to_repeat != has_to_repeat_.load(std::memory_order_relaxed)) {  // [own] the thread that holds `looking_`
    has_to_repeat_.store(has_to_repeat, std::memory_order_relaxed);       // [hint] for a thread about to sleep
  }
  bool stops = take_in();
  // [run_loop.looked_again] acquire <- [run_loop.look_again]: the waits given up.
  if (stops_.load(std::memory_order_acquire) && stops_.exchange(false, std::memory_order_acquire)) stops = true;
  for (std::size_t i = 0; i < watched_.size();) {
    ask(watched_[i], stops);
    if (watched_[i].waiting.first == nullptr) {
      watched_[i] = watched_.back();
      watched_.pop_back();
    } else {
      ++i;
    }
  }
  looking_.leave();
  return true;
}

void run_loop_state::take_refused() noexcept {
  for (ready_node* next = refused_.is_empty() ? nullptr : refused_.take_all(); next != nullptr;) {
    ready_node& node = *next;
    next = node.behind;
    to_post_.add(node);
  }
}

void run_loop_state::post_all_again() noexcept {
  take_refused();
  node_list again;
  for (unsigned refusals = 0; to_post_.first != nullptr && refusals < refusals_max;) {
    ready_node& node = *to_post_.first;
    to_post_.remove_behind(nullptr);
    if (static_cast<detail::posting&>(node).post_again()) continue;
    again.add(node);
    ++refusals;
  }
  // They go behind the others, so that those to another peer have their turn.
  while (again.first != nullptr) {
    ready_node& node = *again.first;
    again.remove_behind(nullptr);
    to_post_.add(node);
  }
}

// Whether a wait that was added was given up before: `look_again` may have come while it was in no list.
bool run_loop_state::take_in() {
  bool has_stopped = false;
  for (ready_node* next = coming_.is_empty() ? nullptr : coming_.take_all(); next != nullptr;) {
    auto& node = static_cast<detail::watching&>(*next);
    next = node.behind;
    const auto same = [&](const watched& group) {
      return group.object == node.object() && group.is_for_all == node.is_for_all();
    };
    auto group = std::ranges::find_if(watched_, same);
    if (group == watched_.end()) {
      watched_.push_back({node.object(), node.is_for_all(), {}});
      group = watched_.end() - 1;
      watched_since_.fetch_add(1, std::memory_order_relaxed);  // [hint] for a thread about to sleep
    }
    group->waiting.add(node);
    if (node.is_stopped()) has_stopped = true;
  }
  return has_stopped;
}

void run_loop_state::ask(watched& group, bool stops) noexcept {
  bool is_met_for_none = false;
  ready_node* before = nullptr;
  for (ready_node* next = group.waiting.first; next != nullptr && (stops || !is_met_for_none);) {
    auto& each = static_cast<detail::watching&>(*next);
    next = each.behind;
    if (each.is_stopped() || (!is_met_for_none && each.is_met())) {
      group.waiting.remove_behind(before);
      make_ready(each);
    } else {
      is_met_for_none = group.is_for_all;
      before = &each;
    }
  }
}

ready_node* run_loop_state::take_ready() noexcept {
  static_cast<void>(look());
  return ready_.is_empty() ? nullptr : ready_.take_all();
}

run_loop_state::sleep run_loop_state::prepare_to_sleep() noexcept {
  sleep out;
  out.objects[out.object_count++] = &local_;
  out.is_restless = true;
  if (!looking_.try_enter()) return out;
  const bool is_unsignalled =
      std::ranges::any_of(watched_, [](const watched& group) { return group.object == nullptr; });
  out.is_crowded = is_unsignalled || watched_.size() >= sleep::objects_max;
  out.is_restless = has_to_try_again() || out.is_crowded;
  out.watched_since = watched_since_.load(std::memory_order_relaxed);  // [own] the thread that holds `looking_`
  for (const watched& group : watched_) {
    if (group.object != nullptr && out.object_count < sleep::objects_max)
      out.objects[out.object_count++] = group.object;
  }
  looking_.leave();
  return out;
}

bool run_loop_state::has_changed(const sleep& since) noexcept {
  const bool has_looked = look();
  if (!ready_.is_empty()) return true;
  const bool has_to_repeat = has_to_repeat_.load(std::memory_order_relaxed);  // [hint]
  // Nothing may be left that was to be repeated: then the thread can sleep.
  if (since.is_restless) return has_looked && !since.is_crowded && !has_to_repeat;
  // If another thread holds `looking_`, it may have looked too early. Other changes cannot be missed: the thread that
  // makes one wakes this thread.
  return !has_looked || has_to_repeat ||
         watched_since_.load(std::memory_order_relaxed) != since.watched_since;  // [hint]
}

void run_loop_state::describe(base::report& into) {
  const std::size_t tasks = spawned();
  const std::uint32_t incomplete = promise::open(local_);
  std::size_t to_post = 0;
  std::size_t waiting = 0;
  std::size_t without_object = 0;
  if (looking_.try_enter()) {  // otherwise another thread looks
    for (const ready_node* each = to_post_.first; each != nullptr; each = each->behind) ++to_post;
    for (const watched& group : watched_) {
      for (const ready_node* each = group.waiting.first; each != nullptr; each = each->behind) {
        ++(group.object == nullptr ? without_object : waiting);
      }
    }
    looking_.leave();
  }
  if (tasks + incomplete + to_post + waiting + without_object == 0) return;
  into.add("a run_loop on device {}: {} {} not ended; its coroutines wait for {} that {} not complete{}{}{}",
           door::index_of(device_of()), base::counted(tasks, "spawned task"), base::form_for(tasks, "has", "have"),
           base::counted(incomplete, "operation"), base::form_for(incomplete, "is", "are"),
           to_post == 0 ? "" : fmt::format(", to post {} again that were answered retry", to_post),
           waiting == 0 ? "" : fmt::format(", {} for a completion object or an event", base::counted(waiting, "time")),
           without_object == 0
               ? ""
               : fmt::format(", {} for a condition without an object", base::counted(without_object, "time")));
}

bool run_loop_state::wait(bool (*is_over)(void*), void* argument, const wait_options& options) {
  struct condition {
    run_loop_state* loop;
    bool (*is_over)(void*);
    void* argument;
    sleep now;
  } awaited{this, is_over, argument, prepare_to_sleep()};
  wait_options adapted = options;
  if (awaited.now.is_restless && adapted.mode == wait_mode::park) adapted.mode = wait_mode::yield;
  const base::thread_wait_scope waits{{"run_loop::run or run_until"}};
  base::refuse_in_callback("device::wait");
  return door::wait(
      device_of(), std::span{awaited.now.objects}.first(awaited.now.object_count),
      [](void* it) {
        auto& asked = *static_cast<condition*>(it);
        return asked.is_over(asked.argument) || asked.loop->has_changed(asked.now);
      },
      &awaited, adapted);
}

}  // namespace weft::core

namespace weft {
namespace {

// The loops of this process, by their addresses. A coroutine that was made for one and begins when that has gone is
// found out without a look at memory that is no loop any more.
//
// Cost of a look: three words of the thread's own, and one that is written where loops are made and destroyed.
class living_loops final : private base::not_inherited {
 public:
  void add(const run_loop* loop, core::run_loop_state* state) {
    const std::scoped_lock lock{mutex_};
    loops_.insert_or_assign(loop, state);
    note_change();
  }
  void remove(const run_loop* loop) noexcept {
    const std::scoped_lock lock{mutex_};
    loops_.erase(loop);
    note_change();
  }

  /// Null: there is none. Ends a child of fork() that uses a loop of its parent.
  [[nodiscard]] core::run_loop_state* find(const run_loop* loop) noexcept {
    static thread_local seen last;  // variable of the thread
    // [loops.changes] acquire <- [loops.change]: the wanted loop was made before, or is destroyed by now.
    const std::uint64_t changes = changes_.load(std::memory_order_acquire);
    if (last.loop == loop && last.changes == changes) [[likely]]
      return last.state;
    const std::scoped_lock lock{mutex_};
    const auto found = loops_.find(loop);
    if (found == loops_.end()) return nullptr;
    if (found->second->is_copy()) base::refuse_to_child("a run loop");
    last = {loop, found->second, changes};
    return last.state;
  }

 private:
  struct seen {
    const run_loop* loop = nullptr;
    core::run_loop_state* state = nullptr;
    std::uint64_t changes = 0;
  };

  // So that each thread looks at the table again.
  void become_copy() noexcept override { note_change(); }

  // [loops.change] release -> [loops.changes]: under the lock.
  void note_change() noexcept { changes_.fetch_add(1, std::memory_order_release); }

  base::process_lock& mutex_ = *new base::process_lock;
  std::unordered_map<const run_loop*, core::run_loop_state*> loops_;
  std::atomic<std::uint64_t> changes_{1};
  base::fork_entry at_forks_{*this};
};

// Never destroyed: a loop may be a static object.
living_loops& loops() {
  static living_loops& all = *new living_loops;
  return all;
}

}  // namespace

core::run_loop_state& run_loop::state_of(const run_loop* loop) noexcept {
  core::run_loop_state* const found = loops().find(loop);
  if (found == nullptr) [[unlikely]]
    detail::await_misuse("a coroutine awaits something of a run loop that was destroyed");
  return *found;
}

run_loop::run_loop(weft::device& dev) : device_{&dev} {
  auto made = std::make_unique<core::run_loop_state>(dev);
  loops().add(this, made.get());
  state_ = made.release();
}

run_loop::~run_loop() {
  if (std::unique_ptr<core::run_loop_state> mine{state_}; mine->is_copy()) base::leave_to_parent(mine);
  loops().remove(this);
}

task<> detail::keeping(std::shared_ptr<void> /*kept*/, task<> awaited) { co_await std::move(awaited); }

void run_loop::spawn(task<> new_task) {
  core::run_loop_state& loop = state();
  if (!new_task.coroutine_) detail::await_misuse(detail::task_is_empty);
  loop.spawn(std::exchange(new_task.coroutine_, nullptr));
}

std::size_t run_loop::spawned() const noexcept { return state().spawned(); }

std::size_t run_loop::run_ready() {
  return run_ready([](std::coroutine_handle<> next) { detail::resume(next); });
}

bool run_loop::poll() {
  const bool moved = device_->progress();
  return run_ready() != 0 || moved;
}

bool run_loop::run(const wait_options& options) {
  const bool out =
      run_until([](void* argument) { return static_cast<run_loop*>(argument)->spawned() == 0; }, this, options);
  rethrow();  // what an executor has run
  return out;
}

bool run_loop::run_until(bool (*is_over)(void*), void* argument, const wait_options& options) {
  using base::clock;
  base::refuse_in_callback("run_loop::run");
  const bool is_patient = options.timeout == wait_options{}.timeout;
  const clock::time_point begin = is_patient ? clock::time_point{} : clock::now();
  wait_options left = options;
  while (!is_over(argument)) {
    const bool has_run = run_ready() != 0;
    if (!is_patient) left.timeout = std::max(options.timeout - (clock::now() - begin), left.timeout.zero());
    if (has_run && left.timeout != left.timeout.zero()) {
      device_->progress();  // coroutines that are always ready don't keep messages away
    } else if (!state().wait(is_over, argument, left) || left.timeout == left.timeout.zero()) {
      return is_over(argument);
    }
  }
  return true;
}

detail::flush_awaiter run_loop::flush(std::uint32_t peer) {
  const std::uint32_t size = device_->runtime().size();
  if (peer >= size) core::refuse_rank("flush", peer, size);
  return {state(), *device_->runtime().state_, peer, peer + 1};
}

detail::flush_awaiter run_loop::flush() { return {state(), *device_->runtime().state_, 0, device_->runtime().size()}; }

detail::barrier_awaiter run_loop::barrier() {
  if (device_ != &device_->runtime().default_device()) {
    throw error{errc::invalid_argument,
                "run_loop::barrier: barriers go by the runtime's default device, and this loop posts on another one"};
  }
  return {state(), *device_->runtime().state_};
}

detail::end_awaiter run_loop::end(hook& ended) {
  core::hook_list* const list = ended.list();
  if (list == nullptr) return {state(), nullptr};
  return {state(), core::door::end_of(ended.control_, *list)};
}

detail::end_awaiter run_loop::end(registration& ended) {
  if (ended.owner_ == nullptr) return {state(), nullptr};
  return {state(), core::door::end_of(ended.owner_, *ended.target_, ended.id_)};
}

detail::end_awaiter run_loop::end(matching_engine& ended) {
  if (ended.state_ == nullptr) return {state(), nullptr};
  return {state(), core::door::end_of(*ended.runtime_->state_, ended.state_)};
}

detail::end_awaiter run_loop::end(weft::device& ended) {
  if (ended.state_ == nullptr) return {state(), nullptr};
  if (&ended == device_ || &ended == &ended.runtime_->default_device()) {
    throw error{errc::invalid_argument, "run_loop::end: the loop's own device and the default device can't be ended"};
  }
  return {state(), core::door::end_of(*ended.runtime_->state_, ended.state_)};
}

detail::ready_node* run_loop::take_ready() { return state().take_ready(); }

void run_loop::give_back(detail::ready_node* batch) noexcept { state().make_all_ready(batch); }

void run_loop::rethrow() { state().rethrow(); }

void run_loop::set(std::atomic<bool>& flag) noexcept { state().set(flag); }

}  // namespace weft
