// SPDX-License-Identifier: BSD-3-Clause
#include "core/device/hook_list.hpp"

#include "base/assertion.hpp"
#include "base/callback_scope.hpp"
#include "base/misuse.hpp"
#include "core/operation/running_callback.hpp"

namespace weft::core {

hook_list::~hook_list() {
  clear();
  WEFT_ASSERT(is_empty());
}

void hook_list::clear() noexcept {
  // The destructor of a hook may add another hook.
  for (take_in(); first_ != nullptr; take_in()) drop(first_);
}

void hook_list::add(std::unique_ptr<detail::hook_node> made) noexcept {
  WEFT_ASSERT_CHECKED(made != nullptr && made->control != nullptr);
  // [hooks.own] relaxed: handed over with the hook.
  made->control->list.store(this, std::memory_order_relaxed);
  // [hooks.add] relaxed: the hook itself is handed over by the stack.
  count_.fetch_add(1, std::memory_order_relaxed);
  added_.add(*made.release());
}

void hook_list::take_in() noexcept {
  if (added_.is_empty()) return;
  *end_ = added_.take_all();
  while (*end_ != nullptr) end_ = &(*end_)->behind;
}

// Takes the hook at `link` out of the list, and destroys it.
void hook_list::drop(detail::hook_node*& link) noexcept {
  const std::unique_ptr<detail::hook_node> gone{link};
  if (end_ == &gone->behind) end_ = &link;
  link = gone->behind;
  // [hook.end] release -> [hook.over], [hook.look]: the function's writes.
  gone->control->list.store(nullptr, std::memory_order_release);
  // [hooks.drop] relaxed: only a count.
  count_.fetch_sub(1, std::memory_order_relaxed);
}

unsigned hook_list::run(device_state& dev) noexcept {
  WEFT_ASSERT_CHECKED(gate_->is_inside());
  const base::callback_scope hooks_run;  // their destructors, too
  const running_callback by_device{dev};
  take_in();
  unsigned moved = 0;
  for (detail::hook_node** link = &first_; *link != nullptr;) {
    detail::hook_node& each = **link;
    hook_answer answer = hook_answer::done;
    // [hooks.removed] acquire <- [hooks.remove]: the thread that removed the hook may have destroyed objects that the
    // hook refers to.
    if (!each.control->is_removed.load(std::memory_order_acquire)) {
      try {
        answer = each.run();
      } catch (...) {
        base::misuse("a hook threw an exception, which progress can hand to nobody: hooks must not throw");
      }
      moved += answer != hook_answer::no_progress;
    }
    if (answer == hook_answer::done) {
      drop(*link);
    } else {
      link = &each.behind;
    }
  }
  return moved;
}

end_of_hook::end_of_hook(std::shared_ptr<detail::hook_control>& handle, hook_list& list) noexcept
    : handle_{&handle}, gate_{&list.gate()} {
  // [hooks.remove] release -> [hooks.removed]: the earlier writes of the removing thread.
  handle->is_removed.store(true, std::memory_order_release);
  // A poller that has not seen the removal may be running the hook: after the fence we see that it is inside.
  fence_all_threads();
  before_ = gate_->passes();
}

bool end_of_hook::go_on() noexcept {
  if (!gate_->has_left_since(before_)) return false;
  handle_->reset();
  return true;
}

}  // namespace weft::core

namespace weft {

void hook::remove() noexcept {
  // If the gate is closed, its device is a copy that a child of fork() has.
  if (core::hook_list* const list = this->list(); list != nullptr && !list->gate().is_closed())
    core::end_of_hook{control_, *list}.wait();
  control_.reset();
}

core::hook_list* hook::list() const noexcept {
  // [hook.look] acquire <- [hook.end]: the function's writes. It may end at any moment; its device must still exist.
  return control_ == nullptr ? nullptr : control_->list.load(std::memory_order_acquire);
}

}  // namespace weft
