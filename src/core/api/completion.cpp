// SPDX-License-Identifier: BSD-3-Clause
// Completion objects: counter, queue and synchronizer, and their common parts.
#include <fmt/format.h>

#include "base/leave_to_parent.hpp"
#include "core/runtime/runtime_state.hpp"
#include "core/runtime/unwinding.hpp"
#include "weft/completion_queue.hpp"
#include "weft/counter.hpp"
#include "weft/runtime.hpp"
#include "weft/synchronizer.hpp"

namespace weft {
namespace {

[[noreturn]] void refuse_synchronizer(const char* call, const char* why) {
  throw error{errc::invalid_state, fmt::format("synchronizer::{}: {}", call, why)};
}

}  // namespace

completion::completion(weft::runtime& owner) noexcept : runtime_{&owner} { owner.state_->objects().add(); }

bool completion::is_copy() const noexcept { return runtime_->state_->is_copy(); }

completion::~completion() { runtime_->state_->objects().end(*runtime_->state_, *this); }

void completion::end_signals(void (*make_room)(completion& full)) noexcept {
  core::unwinding::end_signals(*runtime_->state_, *this, make_room);
}

// A device of another runtime runs its own callbacks, in which the program has called this object's `signal`.
device& completion::signalling_device() const noexcept {
  const core::running_callback* const inside = core::running_callback::innermost();
  if (inside != nullptr && &inside->device().runtime() == runtime_->state_.get()) return inside->device().interface();
  return runtime_->default_device();
}

// The library's completion objects call this themselves, because users may signal them. After a signal by the library
// it is called again, for objects of the user's own that don't call it. The second call reads the same line, and mostly
// no thread sleeps.
void completion::function_threw() noexcept {
  base::misuse(
      "a handler's function threw an exception, which progress can hand to no caller: handlers must not throw (reply "
      "throws for wrong arguments, too)");
}

void completion::signalled(weft::runtime& owner, const completion* object) noexcept { owner.state_->signalled(object); }

void completion::count_first(signal_count& which) noexcept {
  if (detail::this_thread_slot() < which.by_thread.size()) {
    count_in_own_word(which);
  } else {
    // [completion.count_first] release -> [completion.sum]: the promise before it, and the signal's writes; threads
    // share this word.
    which.by_others.fetch_add(1, std::memory_order_release);
  }
}

void completion::count_back(signal_count& which) noexcept {
  const std::uint32_t slot = detail::this_thread_slot();
  if (slot < which.by_thread.size()) {
    // [completion.count_back] release -> [completion.sum]: promises that the thread has counted before.
    which.by_thread[slot].store(which.by_thread[slot].load(std::memory_order_relaxed) - 1, std::memory_order_release);
  } else {
    // [completion.count_back] release -> [completion.sum]: promises that threads have counted before in the shared
    // word.
    which.by_others.fetch_sub(1, std::memory_order_release);
  }
}

completion::answer counter::signal(completion_record&& record) noexcept {
  weft::runtime& owner = runtime();
  const completion_record consumed{std::move(record)};
  // [counter.fail] relaxed: before [counter.signal], which publishes it.
  if (consumed.error() != errc::none) failed_.fetch_add(1, std::memory_order_relaxed);
  // [counter.signal] release -> [counter.value]: the completed operation's effects.
  value_.fetch_add(1, std::memory_order_release);
  signalled(owner, this);
  return answer::taken;
}

completion_queue::completion_queue(weft::runtime& owner, const completion_queue_options& options) : completion{owner} {
  if (options.unbounded) {
    unbounded_.emplace();
  } else {
    bounded_.emplace(options.capacity != 0 ? options.capacity : owner.state_->attributes().queue_capacity);
    queue_ = &*bounded_;
  }
}

completion_queue::~completion_queue() {
  if (is_copy()) return;
  end_signals([](completion& full) {
    while (static_cast<completion_queue&>(full).pop()) {
    }
  });
  while (pop()) {
  }
}

completion::answer completion_queue::signal(completion_record&& record) noexcept {
  weft::runtime& owner = runtime();
  if (!(bounded_ ? bounded_->try_push(record.raw()) : unbounded_->try_push(record.raw()))) return answer::full;
  record.detach();  // the payload belongs to the queue now
  signalled(owner, this);
  return answer::taken;
}

std::optional<completion_record> completion_queue::pop_among() noexcept {
  std::optional<completion_record> out{std::in_place};
  if (!bounded_->try_pop(out->raw())) empty(out);
  return out;
}

std::optional<completion_record> completion_queue::pop_unbounded() noexcept {
  std::optional<completion_record> out{std::in_place};
  if (!unbounded_->try_pop(out->raw())) empty(out);
  return out;
}

synchronizer::synchronizer(weft::runtime& owner, const synchronizer_options& options)
    : completion{owner}, expected_{options.expected} {
  if (expected_ == 0) throw error{errc::invalid_argument, "synchronizer: it has to expect at least one signal"};
  records_ = std::make_unique<std::optional<completion_record>[]>(expected_);
}

// A thread of the parent may have been writing a record at the fork().
synchronizer::~synchronizer() {
  if (is_copy()) {
    base::leave_to_parent(records_);
    return;
  }
  end_signals([](completion& full) {
    if (auto& mine = static_cast<synchronizer&>(full); mine.is_ready()) mine.reset();
  });
}

std::optional<completion_record> synchronizer::take(std::uint32_t index) {
  if (!is_ready()) refuse_synchronizer("take", "not all signals have come yet; ask is_ready() first");
  if (index >= expected_) {
    throw error{errc::invalid_argument,
                fmt::format("synchronizer::take: there is no record {}, only {}", index, expected_)};
  }
  return std::exchange(records_[index], std::nullopt);
}

void synchronizer::reset() {
  if (!is_ready()) refuse_synchronizer("reset", "not all signals have come yet; ask is_ready() first");
  for (std::uint32_t index = 0; index < expected_; ++index) records_[index].reset();
  // [synchronizer.rewind] relaxed: published by the store below.
  arrived_.store(0, std::memory_order_relaxed);
  // [synchronizer.reset] release -> [synchronizer.claim]: the emptied records.
  claimed_.store(0, std::memory_order_release);
}

completion::answer synchronizer::signal(completion_record&& record) noexcept {
  weft::runtime& owner = runtime();
  // [synchronizer.look] relaxed: a wrong guess makes the exchange fail.
  std::uint32_t claimed = claimed_.load(std::memory_order_relaxed);
  do {
    if (claimed == expected_) return answer::full;
    // [synchronizer.claim] acquire <- [synchronizer.reset]: the slot is empty.
  } while (!claimed_.compare_exchange_weak(claimed, claimed + 1, std::memory_order_acquire, std::memory_order_relaxed));
  records_[claimed].emplace(std::move(record));
  // [synchronizer.arrive] release -> [synchronizer.ready]: the record, and the writes of the completed operation.
  arrived_.fetch_add(1, std::memory_order_release);
  signalled(owner, this);
  return answer::taken;
}

}  // namespace weft
