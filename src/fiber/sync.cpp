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
  waiting_node* behind = nullptr;
};

namespace {

void append(waiting_line& to, waiting_node& last) noexcept {
  (to.last == nullptr ? to.first : to.last->behind) = &last;
  to.last = &last;
}

waiting_node* take_first(waiting_line& from) noexcept {
  waiting_node* const out = from.first;
  if (out == nullptr) return nullptr;
  from.first = out->behind;
  if (from.first == nullptr) from.last = nullptr;
  return out;
}

void wake_all(waiting_node* first) noexcept {
  while (first != nullptr) {
    waiting_node* const next = first->behind;  // after the next line the node may be destroyed
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
  waiting_line all;
  {
    const std::scoped_lock guard{guard_};
    all = std::exchange(line_, {});
  }
  fibers::wake_all(all.first);
}

fiber_barrier::fiber_barrier(std::uint32_t count) : count_{count}, missing_{count} {
  if (count == 0) throw error{errc::invalid_argument, "fiber_barrier: it is for one at least"};
}

void fiber_barrier::arrive_and_wait() {
  base::refuse_in_callback("fiber_barrier::arrive_and_wait");
  if (copy_.is_copy()) base::refuse_to_child("a fiber_barrier");
  waiting_node me;
  waiting_line all;
  {
    const std::scoped_lock guard{guard_};
    if (--missing_ != 0) {
      fibers::append(line_, me);
    } else {
      missing_ = count_;
      all = std::exchange(line_, {});
      me.waiter.come();
    }
  }
  fibers::wake_all(all.first);
  me.waiter.wait({"fiber_barrier::arrive_and_wait"});
}

void fiber_event::set() {
  if (copy_.is_copy()) return;
  waiting_line all;
  {
    const std::scoped_lock guard{guard_};
    is_set_ = true;
    all = std::exchange(line_, {});
  }
  fibers::wake_all(all.first);
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

}  // namespace weft
