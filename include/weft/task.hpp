// SPDX-License-Identifier: BSD-3-Clause
// The coroutine type for users: a function that may await (C++20, [dcl.fct.def.coroutine]).
//
// Cost: one allocation for its frame, and a few dozen instructions for each start and end. A chain of tasks of any
// length needs no stack, at any level of optimization (detail/suspension.hpp).
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/detail/suspension.hpp"

namespace weft {

template <class T>
class task;

namespace detail {

class task_promise_base;
class joint;

inline constexpr const char* task_is_empty = "an empty task is awaited or started";

/// The owner of a task that no coroutine awaits; the task calls it at its end.
class task_owner {
 public:
  /// The task has ended; it may be destroyed here.
  virtual void ended(task_promise_base& promise) noexcept = 0;

 protected:
  ~task_owner() = default;
};

class task_promise_base : public ready_node, public suspendable {
 public:
  class last_suspension {
   public:
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      ended.promise().end();
    }
    void await_resume() const noexcept {}
  };

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] last_suspension final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }

  /// Starts the task, once. At its end `then` is resumed; if `then` is null, the task calls `whose->ended`.
  void start(std::coroutine_handle<> self, std::coroutine_handle<> then, task_owner* whose) {
    if (is_started) await_misuse("a task is awaited or started a second time");
    is_started = true;
    handle = self;
    then_ = then;
    owner_ = whose;
  }

  std::exception_ptr failure;
  // The neighbours of a spawned task in the list of its loop, which guards them.
  task_promise_base* spawned_before = nullptr;
  task_promise_base* spawned_behind = nullptr;

  /// Destroys the frame, now or when nothing outside refers to it any more.
  void drop(std::coroutine_handle<> self) noexcept {
    if (point == nullptr) return self.destroy();
    // [own] held by this call: abandoned parts may release their holds meanwhile.
    holders.store(1, std::memory_order_relaxed);
    point->abandon(*this);
    drop_holder();
  }

 private:
  void end() noexcept {
    if (then_) return transfer(then_);
    owner_->ended(*this);
  }

  std::coroutine_handle<> then_;
  task_owner* owner_ = nullptr;
};

template <class T>
class task_promise final : public task_promise_base {
 public:
  [[nodiscard]] task<T> get_return_object() noexcept;

  template <class Value>
  void return_value(Value&& value) {
    static_assert(std::is_constructible_v<T, Value>, "co_return has a value of which the task's result can be made");
    if constexpr (std::is_constructible_v<T, Value>) value_.emplace(std::forward<Value>(value));
  }

  [[nodiscard]] T result() {
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class task_promise<void> final : public task_promise_base {
 public:
  [[nodiscard]] task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void result() {
    if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
  }
};

}  // namespace detail

/// A coroutine that begins when it is awaited, or when a `run_loop` starts it, and returns a `T`. The `co_await` throws
/// the coroutine's exception.
///
/// Let a coroutine take its parameters by value: then they lie in its frame. Objects to which it refers must live until
/// its end. A lambda that is a coroutine must outlive the task, with its captures.
///
/// All functions: **Blocking**: never; an await runs the coroutine, and suspends its caller. **Threads**: one at a
/// time, the thread that resumes the coroutine. **Errors**: an await throws the exception of the coroutine; others
/// none. An await of an empty task, or a second await, ends the process.
/// **Lifetime**: a task that is destroyed before its end cancels the receive for which it waits, or the message that it
/// has posted with a stop token. Its frame, with all
/// buffers in it, is destroyed when no operation refers to it any more: immediately, or when its loop would have
/// resumed it.
template <class T = void>
class [[nodiscard]] task {
 public:
  static_assert(!std::is_reference_v<T>, "give back a pointer or a value");
  /// The promise type that the compiler looks up.
  using promise_type = detail::task_promise<T>;

  task() noexcept = default;
  /// Takes the coroutine over; `other` is empty afterwards.
  task(task&& other) noexcept : coroutine_{std::exchange(other.coroutine_, nullptr)} {}
  /// Drops its own coroutine, as the destructor does, then takes over the coroutine of `other`, which is empty
  /// afterwards.
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      drop();
      coroutine_ = std::exchange(other.coroutine_, nullptr);
    }
    return *this;
  }
  ~task() { drop(); }

  /// Runs the coroutine. When it has ended, the awaiting coroutine is resumed, in the thread in which it ended.
  class awaiter final : public detail::waiting_point {
   public:
    /// Awaits the coroutine `callee`.
    explicit awaiter(std::coroutine_handle<promise_type> callee) noexcept : callee_{callee} {
      if (!callee_) detail::await_misuse(detail::task_is_empty);
    }
    /// False: the coroutine has not begun.
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    /// Starts the coroutine.
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> caller) {
      hold(caller);
      const std::coroutine_handle<promise_type> callee = callee_;
      callee.promise().start(callee, caller, nullptr);
      detail::transfer(callee);
    }
    /// Returns the coroutine's result, or throws its exception.
    T await_resume() {
      release();
      return callee_.promise().result();
    }
    /// Tells the operation for which the coroutine waits that no coroutine waits any more.
    bool abandon(detail::ready_node& root) noexcept override {
      waiting_point* const point = callee_.promise().point;
      return point != nullptr && point->abandon(root);
    }

   private:
    std::coroutine_handle<promise_type> callee_;
  };
  /// Runs the coroutine and returns its result.
  [[nodiscard]] awaiter operator co_await() && noexcept { return awaiter{coroutine_}; }

 private:
  friend promise_type;
  friend class run_loop;
  friend class detail::joint;
  explicit task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_{coroutine} {}

  void drop() noexcept {
    if (!coroutine_) return;
    const auto gone = std::exchange(coroutine_, nullptr);
    gone.promise().drop(gone);
  }

  std::coroutine_handle<promise_type> coroutine_;
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
  return task<T>{std::coroutine_handle<task_promise>::from_promise(*this)};
}
inline task<void> task_promise<void>::get_return_object() noexcept {
  return task<void>{std::coroutine_handle<task_promise>::from_promise(*this)};
}

}  // namespace detail
}  // namespace weft
