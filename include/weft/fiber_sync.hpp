// SPDX-License-Identifier: BSD-3-Clause
// Synchronization of fibers: mutex, condition, barrier, event, future. Threads may use them, too.
//
// Cost of a call: a lock that is held for a few instructions only. A wait suspends the fiber, or lets the thread sleep.
// A time limit of a fiber's wait costs an allocation and a lock of the process more.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/detail/copy_mark.hpp"
#include "weft/error.hpp"
#include "weft/wait.hpp"

namespace weft {

namespace fibers {

struct waiting_node;

/// Waiting fibers and threads, in the order of their calls. Guarded by the lock of the object that has it.
struct waiting_line {
  waiting_node* first = nullptr;
  waiting_node* last = nullptr;
};

}  // namespace fibers

/// A mutex that a fiber may hold while it waits. A fiber that does not get it is suspended, and gets it in first-come
/// order. (A `std::mutex` would block the worker, and with it the fiber that has to unlock.) Works with
/// `std::unique_lock`. Not recursive.
///
/// All functions: **Threads**: any fiber or thread; the one that locked it unlocks it. **Errors**: none, but for
/// `lock` and `try_lock` with limits.
class fiber_mutex {
 public:
  fiber_mutex() = default;
  fiber_mutex(const fiber_mutex&) = delete;
  fiber_mutex& operator=(const fiber_mutex&) = delete;

  /// Locks it. **Blocking**: until the caller has it. **Errors**: `invalid_state` inside a handler, hook or node.
  void lock();
  /// Locks it if it is free. **Blocking**: never. **Returns**: whether the caller has it now.
  [[nodiscard]] bool try_lock();
  /// Waits for it within `limits`. **Blocking**: until the caller has it, or a limit is reached. **Returns**: whether
  /// the caller has it now. **Errors**: `invalid_state` inside a handler, hook or node; `std::bad_alloc`;
  /// `std::system_error` if the system gives no thread for time limits. Then the caller does not have it.
  [[nodiscard]] bool try_lock(const wait_limits& limits);
  template <class WriteMembersInOrderOf = wait_limits>
  bool try_lock(...) = delete;  // limits that do not fit
  /// Passes it to the fiber or thread that has waited longest. **Blocking**: never.
  void unlock();

 private:
  std::mutex guard_;
  detail::copy_mark copy_;
  bool is_locked_ = false;
  fibers::waiting_line line_;
};

/// A condition variable for `fiber_mutex`. All functions: **Threads**: any fiber or thread. **Errors**: none, but for
/// `wait`.
class fiber_condition {
 public:
  fiber_condition() = default;
  fiber_condition(const fiber_condition&) = delete;
  fiber_condition& operator=(const fiber_condition&) = delete;

  /// Unlocks, waits for a notification, and locks again. It returns only after a notification, but another fiber may
  /// have had the lock in between. **Blocking**: until then. **Errors**: `invalid_state` inside a handler, hook or
  /// node; then nothing has happened.
  void wait(std::unique_lock<fiber_mutex>& lock);
  /// Waits until `is_done()`, which it calls under the lock. **Blocking**: until then. **Errors**: as for the other
  /// `wait`; exceptions of `is_done`.
  template <std::predicate Condition>
  void wait(std::unique_lock<fiber_mutex>& lock, Condition is_done) {
    while (!is_done()) wait(lock);
  }
  /// Waits as `wait`, within `limits`. **Blocking**: until a notification comes or a limit is reached, and the caller
  /// has the lock again, for which it waits without a limit. **Returns**: whether a notification came. **Errors**: as
  /// for the other `wait`; `std::bad_alloc`; `std::system_error` if the system gives no thread for time limits. Then
  /// nothing has happened.
  [[nodiscard]] bool wait(std::unique_lock<fiber_mutex>& lock, const wait_limits& limits);
  /// Waits until `is_done()`, which it calls under the lock, within `limits`. **Blocking**: until then, and for the
  /// lock.
  /// **Returns**: the last answer of `is_done()`. **Errors**: those of the other `wait` with limits, but others may
  /// have had the lock; exceptions of `is_done`.
  template <std::predicate Condition>
  [[nodiscard]] bool wait(std::unique_lock<fiber_mutex>& lock, Condition is_done, const wait_limits& limits) {
    return wait_erased(
        lock, [](void* condition) -> bool { return (*static_cast<Condition*>(condition))(); }, &is_done, limits);
  }
  template <class WriteLockConditionAndMembersInOrderOf = wait_limits>
  bool wait(...) = delete;  // arguments that do not fit
  /// Wakes the fiber or thread that has waited longest. **Blocking**: never.
  void notify_one();
  /// Wakes all that wait now. **Blocking**: never.
  void notify_all();

 private:
  [[nodiscard]] bool wait_erased(std::unique_lock<fiber_mutex>& lock, bool (*is_done)(void*), void* condition,
                                 const wait_limits& limits);

  std::mutex guard_;
  detail::copy_mark copy_;
  fibers::waiting_line line_;
};

/// A barrier of `count` fibers or threads, which can be used again and again. All functions: **Threads**: any fiber or
/// thread.
class fiber_barrier {
 public:
  /// Serves `count` fibers or threads. **Blocking**: never. **Errors**: `invalid_argument` for 0.
  explicit fiber_barrier(std::uint32_t count);
  fiber_barrier(const fiber_barrier&) = delete;
  fiber_barrier& operator=(const fiber_barrier&) = delete;

  /// Waits until `count` have called it. What they did before is visible to all of them afterwards. **Blocking**: until
  /// then. **Errors**: `invalid_state` inside a handler, hook or node; then the call does not count.
  void arrive_and_wait();
  /// Arrives and waits as `arrive_and_wait`, within `limits`. If a limit is reached before `count` have called, the
  /// call does not count.
  /// **Blocking**: until then. **Returns**: whether `count` have called. **Errors**: `invalid_state` inside a handler,
  /// hook or node; `std::bad_alloc`; `std::system_error` if the system gives no thread for time limits. Then the call
  /// does not count.
  [[nodiscard]] bool arrive_and_wait(const wait_limits& limits);
  template <class WriteMembersInOrderOf = wait_limits>
  bool arrive_and_wait(...) = delete;  // limits that do not fit

 private:
  // Counts the caller. The last one wakes all others.
  void arrive(fibers::waiting_node& me);

  std::mutex guard_;
  detail::copy_mark copy_;
  std::uint32_t count_;
  std::uint32_t missing_;
  fibers::waiting_line line_;
};

/// An event that happens once. All functions: **Threads**: any fiber or thread. **Errors**: none, but for `wait`.
class fiber_event {
 public:
  fiber_event() = default;
  fiber_event(const fiber_event&) = delete;
  fiber_event& operator=(const fiber_event&) = delete;

  /// Lets all that wait go on, now and later. A second call does nothing. **Blocking**: never; also inside handlers.
  void set();
  /// Whether it is set. **Blocking**: never.
  [[nodiscard]] bool is_set();
  /// Waits until it is set. What was done before `set` is visible afterwards. **Blocking**: until then. **Errors**:
  /// `invalid_state` inside a handler, hook or node, also where it is set.
  void wait();
  /// Waits as `wait`, within `limits`. **Blocking**: until it is set, or a limit is reached. **Returns**: whether it is
  /// set.
  /// **Errors**: as for `wait`; `std::bad_alloc`; `std::system_error` if the system gives no thread for time limits.
  [[nodiscard]] bool wait(const wait_limits& limits);
  template <class WriteMembersInOrderOf = wait_limits>
  bool wait(...) = delete;  // limits that do not fit

 private:
  std::mutex guard_;
  detail::copy_mark copy_;
  bool is_set_ = false;
  fibers::waiting_line line_;
};

namespace fibers {

template <class Value>
struct shared_result {
  using stored = std::conditional_t<std::is_void_v<Value>, std::monostate, Value>;
  fiber_event ready;
  detail::copy_mark copy;
  std::optional<stored> value;
  std::exception_ptr thrown;
};

}  // namespace fibers

/// The receiving end of a `fiber_promise`. All functions: **Threads**: any fiber or thread, one at a time for one
/// object.
template <class Value>
class [[nodiscard]] fiber_future {
 public:
  fiber_future() = default;

  /// Whether `get` would return at once. **Blocking**: never. **Errors**: `invalid_state` after `get`, and for a future
  /// of no promise.
  [[nodiscard]] bool is_ready() const { return result().ready.is_set(); }
  /// Waits for the result within `limits`, and leaves it to `get`. **Blocking**: until the result is set, or a limit is
  /// reached. **Returns**: whether `get` would return at once. **Errors**: as for `is_ready`; `invalid_state` inside a
  /// handler, hook or node; `std::bad_alloc`; `std::system_error` if the system gives no thread for time limits.
  [[nodiscard]] bool wait(const wait_limits& limits) const { return result().ready.wait(limits); }
  /// Takes the result. **Blocking**: until the result is set. **Errors**: the exception that was set instead;
  /// `invalid_state` a second time, for a future of no promise, if the promise was destroyed without a result, and
  /// inside a handler, hook or node (then the result stays).
  Value get() {
    result().ready.wait();
    const auto from = std::exchange(result_, nullptr);
    if (from->thrown) std::rethrow_exception(from->thrown);
    if constexpr (!std::is_void_v<Value>) return std::move(*from->value);
  }

 private:
  template <class>
  friend class fiber_promise;
  explicit fiber_future(std::shared_ptr<fibers::shared_result<Value>> result) : result_{std::move(result)} {}
  fibers::shared_result<Value>& result() const {
    if (!result_) throw error{errc::invalid_state, "fiber_future: there is no result, or it was taken before"};
    return *result_;
  }
  std::shared_ptr<fibers::shared_result<Value>> result_;
};

/// The giving end: it sets the result for which a `fiber_future` waits. All functions: **Blocking**: never.
/// **Threads**: any, one at a time for one object; also inside handlers. **Errors**: `std::bad_alloc`, and exceptions
/// of `Value`'s constructor.
template <class Value>
class fiber_promise {
 public:
  fiber_promise() : to_{std::make_shared<fibers::shared_result<Value>>()} {}
  /// Takes the future of the other promise over.
  fiber_promise(fiber_promise&&) noexcept = default;
  fiber_promise& operator=(fiber_promise&&) = delete;
  ~fiber_promise() {
    if (!to_ || to_->copy.is_copy() || to_->ready.is_set()) return;
    to_->thrown = std::make_exception_ptr(error{errc::invalid_state, "fiber_promise: it went without a result"});
    to_->ready.set();
  }

  /// The future of this promise; call it once.
  fiber_future<Value> future() const { return fiber_future<Value>{to_}; }
  /// Sets the result. Call either this or `set_exception`, once.
  template <class... Result>
  void set_value(Result&&... result) {
    using stored = typename fibers::shared_result<Value>::stored;
    static_assert(std::is_constructible_v<stored, Result...>, "the result is made of the arguments of set_value");
    if constexpr (std::is_constructible_v<stored, Result...>) to_->value.emplace(std::forward<Result>(result)...);
    to_->ready.set();
  }
  /// Sets an exception, which `get` throws.
  void set_exception(std::exception_ptr thrown) {
    to_->thrown = std::move(thrown);
    to_->ready.set();
  }

 private:
  std::shared_ptr<fibers::shared_result<Value>> to_;
};

}  // namespace weft
