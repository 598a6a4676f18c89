// The coroutine that Weft's users write: a function that may await (C++20, [dcl.fct.def.coroutine]).
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

/// Who is told that a task which nobody awaits has ended.
class task_owner {
 public:
  /// The task is suspended for good; it may be destroyed here.
  virtual void ended(task_promise_base& what) noexcept = 0;

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

  /// The only start that there is: `then` goes on afterwards, or `owner_` is told.
  void start(std::coroutine_handle<> self, std::coroutine_handle<> then, task_owner* whose) {
    if (is_started) await_misuse("a task is awaited or started a second time");
    is_started = true;
    handle = self;
    then_ = then;
    owner_ = whose;
  }

  std::exception_ptr failure;

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
  requires std::constructible_from<T, Value>
  void return_value(Value&& value) { value_.emplace(std::forward<Value>(value)); }

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

/// A coroutine that begins when it is awaited, or when a `run_loop` starts it, and gives back a `T`. What it throws
/// comes out of the `co_await`.
///
/// Let it take its parameters by value: they lie in its frame then; what it refers to has to live until its end. A
/// lambda that is a coroutine must outlive it, captures and all.
///
/// **Threads**: one at a time, the one that resumes it. **Lifetime**: a task that is destroyed before its end takes
/// back the receive that it waits for; its frame, and all buffers in it, go when nothing refers to them any more: at
/// once, or when its loop would have resumed it.
template <class T = void>
class [[nodiscard]] task {
 public:
  static_assert(!std::is_reference_v<T>, "give back a pointer or a value");
  /// What the compiler looks for.
  using promise_type = detail::task_promise<T>;

  task() noexcept = default;
  /// Takes the coroutine over; `other` is empty then, and so is one that is assigned from.
  task(task&& other) noexcept : coroutine_{std::exchange(other.coroutine_, nullptr)} {}
  /// The same; the coroutine that was here goes as in the destructor.
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      drop();
      coroutine_ = std::exchange(other.coroutine_, nullptr);
    }
    return *this;
  }
  ~task() { drop(); }

  /// Runs it; the awaiting coroutine goes on when it has ended, in the thread in which it has.
  class awaiter final : public detail::waiting_point {
   public:
    /// Of the coroutine that is to run.
    explicit awaiter(std::coroutine_handle<promise_type> callee) noexcept : callee_{callee} {
      if (!callee_) detail::await_misuse(detail::task_is_empty);
    }
    /// Never: it begins now.
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    /// Starts it.
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> caller) {
      hold(caller);
      const std::coroutine_handle<promise_type> callee = callee_;
      callee.promise().start(callee, caller, nullptr);
      detail::transfer(callee);
    }
    /// What it has given back, or thrown.
    T await_resume() {
      release();
      return callee_.promise().result();
    }
    /// Passes on that nobody waits any more to what it waits for.
    bool abandon(detail::ready_node& root) noexcept override {
      waiting_point* const at = callee_.promise().at;
      return at != nullptr && at->abandon(root);
    }

   private:
    std::coroutine_handle<promise_type> callee_;
  };
  /// Runs it and gives back what it does.
  [[nodiscard]] awaiter operator co_await() && noexcept { return awaiter{coroutine_}; }

 private:
  friend promise_type;
  friend class run_loop;
  friend class detail::joint;
  explicit task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_{coroutine} {}

  void drop() noexcept {
    if (!coroutine_) return;
    const auto gone = std::exchange(coroutine_, nullptr);
    promise_type& promise = gone.promise();
    if (promise.at == nullptr) return gone.destroy();
    promise.holders.store(1, std::memory_order_relaxed);  // [stat] this: what is abandoned may be let go of meanwhile
    promise.at->abandon(promise);
    promise.drop_holder();
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
