// SPDX-License-Identifier: BSD-3-Clause
// The steps in which coroutines are suspended and resumed.
#include "weft/detail/awaiters.hpp"
#include "base/backoff.hpp"
#include "base/exception_text.hpp"
#include "base/misuse.hpp"
#include "base/of_fiber.hpp"

#include "core/door/door.hpp"
#include "coro/run_loop_state.hpp"
#include "weft/detail/copy_mark.hpp"
#include "weft/error.hpp"
#include "weft/event.hpp"
#include "weft/run_loop.hpp"

namespace weft::detail {
namespace {

// Resumes coroutines one after the other; the running one leaves its successor here.
class succession {
 public:
  succession() noexcept = default;
  succession(const succession&) = delete;
  succession& operator=(const succession&) = delete;

  void run(std::coroutine_handle<> next) {
    for (; next; next = take()) next.resume();
  }
  /// False: another one is to follow.
  [[nodiscard]] bool try_follow(std::coroutine_handle<> next) noexcept {
    if (next_) return false;
    next_ = next;
    return true;
  }
  /// Puts it behind the ones that are there already.
  void add(ready_node* first) noexcept {
    *end_ = first;
    while (*end_ != nullptr) end_ = &(*end_)->behind;
  }
  [[nodiscard]] std::coroutine_handle<> take() noexcept {
    if (next_) return std::exchange(next_, nullptr);
    if (first_ == nullptr) return nullptr;
    const ready_node& taken = *first_;
    first_ = taken.behind;
    if (first_ == nullptr) end_ = &first_;
    return taken.handle;
  }

  /// Null where this fiber, or thread, runs no coroutine.
  [[nodiscard]] static succession* current() noexcept { return static_cast<succession*>(base::this_succession()); }

 private:
  base::succession_mark mark_{this};
  std::coroutine_handle<> next_;
  ready_node* first_ = nullptr;
  ready_node** end_ = &first_;
};

// Never waits: a lock may be held, a ring may be full, and only this thread may be there to make progress.
[[nodiscard]] bool try_cancel(core::run_loop_state& loop, std::uint64_t ticket) noexcept {
  return core::cancel::single(loop.device_of(), ticket) != core::cancel_answer::busy;
}

}  // namespace

void await_misuse(const char* description) noexcept { base::misuse(description); }
void destroyed_while_waiting() noexcept {
  if (!is_child_of_fork()) await_misuse("a coroutine is destroyed while something that it awaits is under way");
}

void resume(std::coroutine_handle<> coroutine) { succession{}.run(coroutine); }

void transfer(std::coroutine_handle<> next) {
  succession* const here = succession::current();
  if (here == nullptr || !here->try_follow(next)) resume(next);
}

void transfer_to_all(ready_node* first) {
  if (succession* const here = succession::current(); here != nullptr) return here->add(first);
  succession all;
  all.add(first);
  all.run(all.take());
}

posting::posting(core::run_loop_state& loop, operation opcode, std::uint32_t peer, std::uint64_t tag) noexcept
    : loop_{&loop} {
  raw_record& raw = record_.raw();
  raw.opcode = opcode;
  raw.peer = peer;
  raw.tag = tag;
}

bool posting::complete(completion_record&& record) noexcept {
  record_ = std::move(record);
  // [await.complete] acq_rel <-> [await.ticket], [await.hand_over], [await.held], [await.settle]: the record; the later
  // one of each two makes the coroutine ready.
  return !signals_twice || state_.exchange(completed, std::memory_order_acq_rel) > completed;
}

bool posting::begin() {
  const bool is_kept = signals_twice;
  status answer = status::done();
  try {
    answer = post(loop_->local(), static_cast<posting*>(this));
  } catch (...) {
    resumed();
    throw;
  }
  if (!answer.is_retry()) return settle(answer, is_kept);
  loop_->post_later(*this);
  return true;
}

// Whether the coroutine is suspended. Unless it is kept until here, it may have gone on, in another thread, as soon as
// the operation was posted: then nothing of it may be touched.
bool posting::settle(status answer, bool is_kept) noexcept {
  return answer.is_posted() && (!is_kept || publish_ticket(answer.ticket()));
}

bool posting::post_again() noexcept {
  core::run_loop_state& state = *loop_;
  const bool is_kept = signals_twice;
  if (is_stopped()) {
    cancel_unposted();
    return true;
  }
  status answer = status::done();
  try {
    answer = post(state.local(), static_cast<posting*>(this));
  } catch (...) {
    failure_ = std::current_exception();
  }
  if (answer.is_retry()) return false;
  if (!settle(answer, is_kept)) state.make_ready(*this);
  return true;
}

void posting::cancel_unposted() noexcept {
  record_.raw().error = errc::cancelled;
  loop_->make_ready(*this);
}

completion_record posting::end() {
  resumed();
  if (failure_) std::rethrow_exception(failure_);
  raw_record& raw = record_.raw();
  if (is_borrowed(raw.location)) {
    raw_record::reference data = raw.referred();
    data.context = nullptr;  // it was ours
    raw.refer(data);
  }
  return std::move(record_);
}

stoppable::stoppable(core::run_loop_state& loop, operation opcode, std::uint32_t peer, std::uint64_t tag,
                     std::stop_token stop) noexcept
    : posting{loop, opcode, peer, tag}, stop_{std::move(stop)} {
  signals_twice = true;
}

bool stoppable::begin() {
  if (stop_.stop_requested()) {
    record().raw().error = errc::cancelled;
    return false;
  }
  if (stop_.stop_possible()) on_stop_.emplace(stop_, canceller{this});
  return posting::begin();
}

bool stoppable::publish_ticket(std::uint64_t ticket) noexcept {
  ticket_ = ticket;
  core::run_loop_state& state = loop();
  std::uint64_t seen = posted_soon;
  // [await.ticket] acq_rel <-> [await.complete], [await.cancel]: the later one of each two sees the other.
  while (!state_.compare_exchange_weak(seen, seen == posted_soon ? ticket : cancelled_later, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
    if (seen == completed) return false;
  }
  if (seen == unwanted_soon && !cancel_again()) state.cancel_later(*this);
  return true;
}

void stoppable::cancel() noexcept {
  core::run_loop_state& state = loop();
  std::uint64_t seen = posted_soon;
  // [await.cancel] acq_rel <-> [await.ticket]: a post that has not returned cancels its operation when it does.
  if (state_.compare_exchange_strong(seen, unwanted_soon, std::memory_order_acq_rel, std::memory_order_acquire)) return;
  if (seen <= completed || try_cancel(state, seen)) return;
  // [await.hand_over] acq_rel <-> [await.complete]: from here on the loop makes the coroutine ready.
  if (state_.compare_exchange_strong(seen, cancelled_later, std::memory_order_acq_rel, std::memory_order_relaxed)) {
    state.cancel_later(*this);
  }
}

bool stoppable::cancel_again() noexcept {
  core::run_loop_state& state = loop();
  // [await.held] acquire <- [await.complete]: the record.
  if (state_.load(std::memory_order_acquire) != completed) {
    if (!try_cancel(state, ticket_)) return false;
    std::uint64_t held = cancelled_later;
    // [await.settle] acq_rel <-> [await.complete]: the record; the later one of both makes the coroutine ready.
    if (state_.compare_exchange_strong(held, ticket_, std::memory_order_acq_rel, std::memory_order_acquire))
      return true;
  }
  state.make_ready(*this);
  return true;
}

bool stoppable::abandon(ready_node& task_root) noexcept {
  if (!posting::abandon(task_root)) return false;
  if (loop().is_copy()) return true;
  cancel();
  return true;
}

completion_record stoppable::end() {
  on_stop_.reset();
  return posting::end();
}

void watching::begin() {
  core::run_loop_state& state = *loop_;
  if (stop_.stop_possible()) on_stop_.emplace(stop_, look_request{loop_});
  state.watch(*this);
}

void watching::end() noexcept {
  on_stop_.reset();
  resumed();
}

bool watching::abandon(ready_node& task_root) noexcept {
  if (!suspension::abandon(task_root)) return false;
  if (loop_->is_copy()) return true;
  loop_->look_again();
  return true;
}

runtime_wait::runtime_wait(core::run_loop_state& loop, core::runtime_state& runtime)
    : watching{loop, &core::door::own_object_of(runtime), false, {}}, runtime_{runtime} {}

bool runtime_wait::is_met() noexcept {
  try {
    return go_on();
  } catch (...) {
    failure_ = std::current_exception();
    return true;
  }
}

bool flush_awaiter::go_on() {
  while (next_ < end_ && core::door::try_flush(runtime_, next_, since_)) ++next_;
  return next_ == end_;
}

bool barrier_awaiter::go_on() { return core::door::pass_barrier(runtime_); }

end_awaiter::end_awaiter(core::run_loop_state& loop, std::unique_ptr<core::awaited_end> awaited) noexcept
    : watching{loop, nullptr, false, {}}, awaited_{std::move(awaited)} {}
end_awaiter::~end_awaiter() = default;
bool end_awaiter::is_met() noexcept { return awaited_->go_on(); }

void watching::look_request::operator()() const noexcept { loop->look_again(); }

void schedule_awaiter::begin() noexcept { loop_->make_ready(*this); }

}  // namespace weft::detail

namespace weft {

event::event(run_loop& loop) noexcept : loop_{&loop.state()} {
  // [event.made] relaxed: only the loop's destructor asks, after the ends of its events.
  loop_->events.fetch_add(1, std::memory_order_relaxed);
}

event::~event() {
  if (loop_->is_copy()) return;
  // [event.end] acquire <- [event.enter], [event.changed]: alone.
  void* const waiting = state_.load(std::memory_order_acquire);
  if (waiting != nullptr && waiting != this) {
    if (!base::is_unwinding())
      detail::await_misuse("an event is destroyed while coroutines wait for it: set it before");
    release(waiting, true);
  }
  // [event.gone] relaxed: only the loop's destructor asks, after the ends of its events.
  loop_->events.fetch_sub(1, std::memory_order_relaxed);
}

bool event::is_set() const noexcept {
  // [event.look] acquire <- [event.set]: the setter's stores.
  return state_.load(std::memory_order_acquire) == this;
}

// The state when no thread takes a coroutine out.
void* event::settled() const noexcept {
  base::backoff changing;
  for (;; changing.pause()) {
    // [event.settled] acquire <- [event.set]: as in `is_set`.
    void* const out = state_.load(std::memory_order_acquire);
    if (out != being_changed()) return out;
  }
}

bool event::enter(detail::ready_node& node) noexcept {
  for (;;) {
    void* top = settled();
    if (top == this) return false;
    node.behind = static_cast<detail::ready_node*>(top);
    // [event.enter] release -> [event.set], [event.end], [event.change]: the coroutine and its link.
    if (state_.compare_exchange_weak(top, &node, std::memory_order_release, std::memory_order_relaxed)) return true;
  }
}

// Takes out a coroutine that is not to be resumed; false: the event was set before. Another thread that sets the event
// or enters it waits meanwhile: else what is set between the exchanges would not reach the others.
bool event::give_up(detail::ready_node& node) noexcept {
  if (loop_->is_copy()) return false;
  void* top = nullptr;
  do {
    top = settled();
    if (top == this || top == nullptr) return false;
    // [event.change] acquire <- [event.enter], [event.changed]: the coroutines and their links.
  } while (!state_.compare_exchange_weak(top, const_cast<void*>(being_changed()), std::memory_order_acquire,
                                         std::memory_order_relaxed));
  auto* first = static_cast<detail::ready_node*>(top);
  detail::ready_node** link = &first;
  while (*link != nullptr && *link != &node) link = &(*link)->behind;
  const bool waits = *link != nullptr;
  if (waits) *link = node.behind;
  // [event.changed] release -> [event.set], [event.end], [event.change]: the coroutines' links.
  state_.store(first, std::memory_order_release);
  return waits;
}

void event::set() noexcept {
  void* top = nullptr;
  do {
    top = settled();
    // [event.set] acq_rel -> [event.look], [event.settled], <- [event.enter], [event.changed]: what was done before,
    // and the waiting coroutines.
  } while (!state_.compare_exchange_weak(top, this, std::memory_order_acq_rel, std::memory_order_relaxed));
  if (top != this) release(top, false);
}

// Makes coroutines ready, which wait in the opposite order. A coroutine may destroy the event from here on.
void event::release(void* waiting, bool is_lost) noexcept {
  core::run_loop_state& loop = *loop_;
  detail::ready_node* in_order = nullptr;
  for (auto* next = static_cast<detail::ready_node*>(waiting); next != nullptr;) {
    auto& node = static_cast<awaiter&>(*next);
    next = std::exchange(node.behind, in_order);
    in_order = &node;
    node.is_lost_ = is_lost;
    // [event.taken] release -> [event.is_taken]: it is in the event no more.
    node.event_.store(nullptr, std::memory_order_release);
  }
  loop.make_all_ready(in_order);
}

void event::awaiter::refuse_lost() {
  throw error{errc::cancelled, "an awaited event was destroyed by an exception that has left its scope"};
}

void event::reset() noexcept {
  void* set = this;
  // [event.reset] relaxed: nothing is read on the strength of it.
  state_.compare_exchange_strong(set, nullptr, std::memory_order_relaxed, std::memory_order_relaxed);
}

}  // namespace weft
