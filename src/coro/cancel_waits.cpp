// SPDX-License-Identifier: BSD-3-Clause
// A run loop cancels the waits of its coroutines, waits given up by a stop token, and all of its tasks if an
// exception leaves its scope.
#include <mutex>
#include <utility>
#include <vector>

#include "base/backoff.hpp"
#include "base/this_suspender.hpp"
#include "core/door/door.hpp"
#include "coro/run_loop_state.hpp"
#include "weft/run_loop.hpp"

namespace weft::core {

void run_loop_state::cancel_all() noexcept {
  // [run_loop.cancel] release -> [run_loop.cancels]: the thread's stores before.
  cancels_.store(true, std::memory_order_release);
  static_cast<void>(look());  // or the thread that looks now, or the next one
  wake();
}

std::vector<loop_wait> run_loop_state::waits() {
  std::vector<loop_wait> out;
  for (const cancel::posted_operation& each : cancel::list(device_of(), local_))
    out.push_back({each.opcode, each.peer, each.tag, each.ticket, &local_});
  for (base::backoff waiting; !looking_.try_enter();) base::yield_or_pause(waiting);
  const struct leaves {
    ~leaves() { lock->leave(); }
    base::try_lock* lock;
  } at_end{&looking_};
  take_refused();
  if (take_in()) look_again();
  for (ready_node* each = to_post_.first; each != nullptr; each = each->behind) {
    const detail::raw_record& post = static_cast<detail::posting&>(*each).described();
    out.push_back({post.opcode, post.peer, post.tag, 0, &local_});
  }
  for (const watched& group : watched_) {
    for (ready_node* each = group.waiting.first; each != nullptr; each = each->behind)
      out.push_back({.object = group.object});
  }
  return out;
}

void run_loop_state::cancel_waits() noexcept {
  take_refused();
  while (to_post_.first != nullptr) {
    auto& each = static_cast<detail::posting&>(*to_post_.first);
    to_post_.remove_behind(nullptr);
    each.cancel_unposted();
  }
  static_cast<void>(take_in());
  for (const watched& group : watched_) {
    for (ready_node* each = group.waiting.first; each != nullptr; each = each->behind)
      static_cast<detail::watching*>(each)->cancel();
  }
  stops_.store(true, std::memory_order_relaxed);  // [own] this look tests all of them
  for (const cancel::posted_operation& each : cancel::list(device_of(), local_))
    tickets_to_cancel_.push_back(each.ticket);
}

void run_loop_state::cancel_all_again() noexcept {
  for (ready_node* next = unwanted_.is_empty() ? nullptr : unwanted_.take_all(); next != nullptr;) {
    ready_node& node = *next;
    next = node.behind;
    to_cancel_.add(node);
  }
  std::erase_if(tickets_to_cancel_,
                [this](std::uint64_t ticket) { return cancel::single(device_of(), ticket) != cancel_answer::busy; });
  ready_node* before = nullptr;
  for (ready_node* next = to_cancel_.first; next != nullptr;) {
    auto& each = static_cast<detail::stoppable&>(*next);
    next = each.behind;
    to_cancel_.remove_behind(before);  // first, as it may be destroyed once it is cancelled
    if (each.cancel_again()) continue;
    to_cancel_.add_behind(before, each);
    before = &each;
  }
}

// An exception leaves the loop's scope. The tasks are destroyed, not resumed: they may refer to what has gone with the
// scope. What they wait for is cancelled by that, or waited for, and then frees their frames.
void run_loop_state::end_tasks() noexcept {
  if (spawned() == 0 && promise::open(local_) == 0 && ready_.is_empty()) return;
  destroy_tasks();
  static_cast<void>(unwinding::wait(device_of(), [this] { return has_destroyed_all(); }));
}

void run_loop_state::destroy_tasks() noexcept {
  // Tasks that have not begun are in the ready queue themselves; of the others, the operation they wait for may be
  // there.
  for (ready_node* next = ready_.is_empty() ? nullptr : ready_.take_all(); next != nullptr;) {
    ready_node& node = *next;
    next = node.behind;
    if (node.is_abandoned || !node.is_started) ready_.add(node);
  }
  for (;;) {
    detail::task_promise_base* gone = nullptr;
    {
      const std::scoped_lock lock{tasks_mutex_};
      gone = tasks_;
    }
    if (gone == nullptr) return;
    forget(*gone);
    gone->drop(gone->handle);
    spawned_.fetch_sub(1, std::memory_order_relaxed);  // [own] the thread that destroys the loop runs no task
  }
}

// Called until it is true: a destroyed task's operation may still be under way, and its end makes the frame free.
bool run_loop_state::has_destroyed_all() noexcept {
  cancel::all(device_of(), {.target = &local_});
  ready_node* kept = nullptr;
  for (ready_node* next = take_ready(); next != nullptr;) {
    ready_node& node = *next;
    next = node.behind;
    if (node.is_abandoned) {
      node.let_go();
    } else {  // a coroutine that no task of this loop awaits
      node.behind = std::exchange(kept, &node);
    }
  }
  while (kept != nullptr) ready_.add(*std::exchange(kept, kept->behind));
  return promise::open(local_) == 0 && watched_.empty() && !has_to_try_again();
}

void run_loop_state::keep(detail::task_promise_base& task) noexcept {
  const std::scoped_lock lock{tasks_mutex_};
  task.spawned_behind = tasks_;
  if (tasks_ != nullptr) tasks_->spawned_before = &task;
  tasks_ = &task;
}

void run_loop_state::forget(detail::task_promise_base& task) noexcept {
  const std::scoped_lock lock{tasks_mutex_};
  (task.spawned_before != nullptr ? task.spawned_before->spawned_behind : tasks_) = task.spawned_behind;
  if (task.spawned_behind != nullptr) task.spawned_behind->spawned_before = task.spawned_before;
}

}  // namespace weft::core

namespace weft {

void run_loop::cancel_all() noexcept { state().cancel_all(); }
std::vector<loop_wait> run_loop::waits() const { return state().waits(); }

}  // namespace weft
