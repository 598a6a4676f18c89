// SPDX-License-Identifier: BSD-3-Clause
// What fibers wait for each other with.
// In a child of fork(), whose parent has the fibers that wait, calls that end a wait do nothing: scopes that the child
// leaves make them.
#include "base/callback_scope.hpp"
#include "base/misuse.hpp"
#include "base/waiter.hpp"
#include "weft/fiber_sync.hpp"

namespace weft {
namespace fibers {

/// A waiting fiber or thread, on whose stack this node lies.
struct waiting_node {
  base::waiter waiter;
  bool is_in_line = false;
  waiting_node* before = nullptr;
  waiting_node* behind = nullptr;
};

namespace {

void append(waiting_line& to, waiting_node& last) noexcept {
  (to.last == nullptr ? to.first : to.last->behind) = &last;
  last.before = to.last;
  to.last = &last;
  last.is_in_line = true;
}

void remove(waiting_line& from, waiting_node& which) noexcept {
  (which.before == nullptr ? from.first : which.before->behind) = which.behind;
  (which.behind == nullptr ? from.last : which.behind->before) = which.before;
  which.is_in_line = false;
}

waiting_node* take_first(waiting_line& from) noexcept {
  waiting_node* const out = from.first;
  if (out == nullptr) return nullptr;
  remove(from, *out);
  return out;
}

waiting_node* take_all(waiting_line& from) noexcept {
  for (waiting_node* each = from.first; each != nullptr; each = each->behind) each->is_in_line = false;
  return std::exchange(from, {}).first;
}

// Called after a limit of its wait was reached. False: the event of `which` has come, or will.
bool withdraw(waiting_line& from, waiting_node& which) noexcept {
  if (!which.is_in_line) return false;
  remove(from, which);
  return true;
}

void wake_all(waiting_node* first) noexcept {
  while (first != nullptr) {
    waiting_node* const next = first->behind;  // the node may be destroyed after the next line
    first->waiter.come();
    first = next;
  }
}

}  // namespace
}  // namespace fibers

using fibers::waiting_line;
using fibers::waiting_node;

void fiber_mutex::lock() {
  base::refuse_in_callback("fiber_mutex::lock");
  if (copy_.is_copy()) base::refuse_to_child("a fiber_mutex");
  waiting_node me;
  {
    const std::scoped_lock guard{guard_};
    if (!std::exchange(is_locked_, true)) return;
    fibers::append(line_, me);
  }
  me.waiter.wait({"fiber_mutex::lock"});  // it was handed over
}

bool fiber_mutex::try_lock(const wait_limits& limits) {
  base::refuse_in_callback("fiber_mutex::try_lock");
  if (try_lock()) return true;
  waiting_node me;
  const base::limit_watch until{me.waiter, limits};
  {
    const std::scoped_lock guard{guard_};
    if (!std::exchange(is_locked_, true)) return true;
    fibers::append(line_, me);
  }
  if (me.waiter.wait({"fiber_mutex::try_lock"}, until)) return true;
  {
    const std::scoped_lock guard{guard_};
    if (fibers::withdraw(line_, me)) return false;
  }
  me.waiter.wait({"fiber_mutex::try_lock"});
  return true;
}

bool fiber_mutex::try_lock() {
  if (copy_.is_copy()) base::refuse_to_child("a fiber_mutex");
  const std::scoped_lock guard{guard_};
  return !std::exchange(is_locked_, true);
}

void fiber_mutex::unlock() {
  if (copy_.is_copy()) return;
  waiting_node* next = nullptr;
  {
    const std::scoped_lock guard{guard_};
    next = fibers::take_first(line_);
    if (next == nullptr) is_locked_ = false;
  }
  if (next != nullptr) next->waiter.come();
}

void fiber_condition::wait(std::unique_lock<fiber_mutex>& lock) {
  base::refuse_in_callback("fiber_condition::wait");
  if (copy_.is_copy()) base::refuse_to_child("a fiber_condition");
  waiting_node me;
  {
    const std::scoped_lock guard{guard_};
    fibers::append(line_, me);
  }
  lock.unlock();
  me.waiter.wait({"fiber_condition::wait"});
  lock.lock();
}

bool fiber_condition::wait(std::unique_lock<fiber_mutex>& lock, const wait_limits& limits) {
  base::refuse_in_callback("fiber_condition::wait");
  if (copy_.is_copy()) base::refuse_to_child("a fiber_condition");
  waiting_node me;
  const base::limit_watch until{me.waiter, limits};
  {
    const std::scoped_lock guard{guard_};
    fibers::append(line_, me);
  }
  lock.unlock();
  bool has_come = me.waiter.wait({"fiber_condition::wait"}, until);
  if (!has_come) {
    {
      const std::scoped_lock guard{guard_};
      has_come = !fibers::withdraw(line_, me);
    }
    if (has_come) me.waiter.wait({"fiber_condition::wait"});  // it is on its way
  }
  lock.lock();
  return has_come;
}

bool fiber_condition::wait_erased(std::unique_lock<fiber_mutex>& lock, bool (*is_done)(void*), void* condition,
                                  const wait_limits& limits) {
  base::refuse_in_callback("fiber_condition::wait");
  if (copy_.is_copy()) base::refuse_to_child("a fiber_condition");
  const base::clock::time_point begin = base::clock::now();
  wait_limits left = limits;
  while (!is_done(condition)) {
    if (limits.timeout != std::chrono::nanoseconds::max()) left.timeout = limits.timeout - (base::clock::now() - begin);
    if (!wait(lock, left)) return is_done(condition);
  }
  return true;
}

void fiber_condition::notify_one() {
  if (copy_.is_copy()) return;
  waiting_node* next = nullptr;
  {
    const std::scoped_lock guard{guard_};
    next = fibers::take_first(line_);
  }
  if (next != nullptr) next->waiter.come();
}

void fiber_condition::notify_all() {
  if (copy_.is_copy()) return;
  waiting_node* all = nullptr;
  {
    const std::scoped_lock guard{guard_};
    all = fibers::take_all(line_);
  }
  fibers::wake_all(all);
}

fiber_barrier::fiber_barrier(std::uint32_t count) : count_{count}, missing_{count} {
  if (count == 0) throw error{errc::invalid_argument, "fiber_barrier: it is for one at least"};
}

void fiber_barrier::arrive(waiting_node& me) {
  waiting_node* all = nullptr;
  {
    const std::scoped_lock guard{guard_};
    if (--missing_ != 0) {
      fibers::append(line_, me);
    } else {
      missing_ = count_;
      all = fibers::take_all(line_);
      me.waiter.come();
    }
  }
  fibers::wake_all(all);
}

void fiber_barrier::arrive_and_wait() {
  base::refuse_in_callback("fiber_barrier::arrive_and_wait");
  if (copy_.is_copy()) base::refuse_to_child("a fiber_barrier");
  waiting_node me;
  arrive(me);
  me.waiter.wait({"fiber_barrier::arrive_and_wait"});
}

bool fiber_barrier::arrive_and_wait(const wait_limits& limits) {
  base::refuse_in_callback("fiber_barrier::arrive_and_wait");
  if (copy_.is_copy()) base::refuse_to_child("a fiber_barrier");
  waiting_node me;
  const base::limit_watch until{me.waiter, limits};
  arrive(me);
  if (me.waiter.wait({"fiber_barrier::arrive_and_wait"}, until)) return true;
  {
    const std::scoped_lock guard{guard_};
    if (fibers::withdraw(line_, me)) {
      ++missing_;
      return false;
    }
  }
  me.waiter.wait({"fiber_barrier::arrive_and_wait"});
  return true;
}

void fiber_event::set() {
  if (copy_.is_copy()) return;
  waiting_node* all = nullptr;
  {
    const std::scoped_lock guard{guard_};
    is_set_ = true;
    all = fibers::take_all(line_);
  }
  fibers::wake_all(all);
}

bool fiber_event::is_set() {
  if (copy_.is_copy()) return is_set_;
  const std::scoped_lock guard{guard_};
  return is_set_;
}

void fiber_event::wait() {
  base::refuse_in_callback("fiber_event::wait");
  if (copy_.is_copy()) base::refuse_to_child("a fiber_event");
  waiting_node me;
  {
    const std::scoped_lock guard{guard_};
    if (is_set_) return;
    fibers::append(line_, me);
  }
  me.waiter.wait({"fiber_event::wait"});
}

bool fiber_event::wait(const wait_limits& limits) {
  base::refuse_in_callback("fiber_event::wait");
  if (copy_.is_copy()) base::refuse_to_child("a fiber_event");
  if (is_set()) return true;
  waiting_node me;
  const base::limit_watch until{me.waiter, limits};
  {
    const std::scoped_lock guard{guard_};
    if (is_set_) return true;
    fibers::append(line_, me);
  }
  if (me.waiter.wait({"fiber_event::wait"}, until)) return true;
  {
    const std::scoped_lock guard{guard_};
    if (fibers::withdraw(line_, me)) return false;
  }
  me.waiter.wait({"fiber_event::wait"});
  return true;
}

}  // namespace weft
