// SPDX-License-Identifier: BSD-3-Clause
// Runs several tasks concurrently and awaits them together.
//
// Cost: only the vector of results is allocated; one atomic operation for each task that ends. Tasks are started one
// after the other, not nested.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/detail/suspension.hpp"
#include "weft/task.hpp"

namespace weft {
namespace detail {

/// The awaiter of several tasks.
class joint : public waiting_point, public task_owner {
 public:
  joint(const joint&) = delete;
  joint& operator=(const joint&) = delete;

  void ended(task_promise_base& /*promise*/) noexcept final {
    // [when_all.ended] acq_rel -> [when_all.ended]: what each task did. Unless this task is the last one, this object
    // may be destroyed from here on.
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) transfer(then_);
  }

 protected:
  /// The result of a task here: `std::monostate` for void.
  template <class T>
  using result_of = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

  joint() noexcept = default;
  ~joint() = default;

  template <class Promise>
  void suspend(std::coroutine_handle<Promise> awaiting) noexcept {
    then_ = awaiting;
    hold(awaiting);
  }

  template <class T>
  void add(task<T>& added) {
    const auto coroutine = added.coroutine_;
    if (!coroutine) await_misuse(task_is_empty);
    task_promise<T>& promise = coroutine.promise();
    promise.start(coroutine, nullptr, this);
    promise.behind = nullptr;
    *end_ = &promise;
    end_ = &promise.behind;
  }
  void start(std::size_t count) {
    left_.store(count, std::memory_order_relaxed);  // [own] the tasks start after this
    transfer_to_all(first_);
  }
  template <class T>
  [[nodiscard]] static result_of<T> take(task<T>& from) {
    if constexpr (std::is_void_v<T>) {
      from.coroutine_.promise().result();
      return {};
    } else {
      return from.coroutine_.promise().result();
    }
  }
  template <class T>
  [[nodiscard]] static bool abandon(task<T>& abandoned, ready_node& root) noexcept {
    waiting_point* const point = abandoned.coroutine_.promise().point;
    return point != nullptr && point->abandon(root);
  }

 private:
  std::atomic<std::size_t> left_{0};  // tasks that have not ended
  std::coroutine_handle<> then_;
  ready_node* first_ = nullptr;
  ready_node** end_ = &first_;
};

/// The awaiter of a fixed number of tasks.
template <class... T>
class joint_of final : public joint {
 public:
  explicit joint_of(task<T>... tasks) noexcept : tasks_{std::move(tasks)...} {}

  [[nodiscard]] bool await_ready() const noexcept { return sizeof...(T) == 0; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) {
    suspend(awaiting);
    std::apply([&](task<T>&... each) { (add(each), ...); }, tasks_);
    start(sizeof...(T));
  }
  [[nodiscard]] std::tuple<result_of<T>...> await_resume() {
    release();
    // Braces evaluate in the order of the tasks: the first exception in that order is thrown.
    return std::apply([](task<T>&... each) { return std::tuple<result_of<T>...>{take(each)...}; }, tasks_);
  }
  bool abandon(ready_node& root) noexcept override {
    bool is_held = false;
    std::apply([&](task<T>&... each) { ((is_held = joint::abandon(each, root) || is_held), ...); }, tasks_);
    return is_held;
  }

 private:
  std::tuple<task<T>...> tasks_;
};

/// The awaiter of a vector of tasks.
template <class T>
class joint_of_many final : public joint {
 public:
  explicit joint_of_many(std::vector<task<T>> tasks) noexcept : tasks_{std::move(tasks)} {}

  [[nodiscard]] bool await_ready() const noexcept { return tasks_.empty(); }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) {
    suspend(awaiting);
    for (task<T>& each : tasks_) add(each);
    start(tasks_.size());
  }
  [[nodiscard]] std::vector<result_of<T>> await_resume() {
    release();
    std::vector<result_of<T>> out;
    out.reserve(tasks_.size());
    for (task<T>& each : tasks_) out.push_back(take(each));
    return out;
  }
  bool abandon(ready_node& root) noexcept override {
    bool is_held = false;
    for (task<T>& each : tasks_) is_held = joint::abandon(each, root) || is_held;
    return is_held;
  }

 private:
  std::vector<task<T>> tasks_;
};

/// Takes what is no task.
struct any_argument {
  template <class Argument>
  any_argument(const Argument& /*argument*/);
};

}  // namespace detail

/// `auto [a, b] = co_await when_all(first(), second());` starts all tasks and goes on when all have ended, in the
/// thread in which the last one ended. It starts them in their order, each when the one before has suspended for the
/// first time or has ended. **Returns**: the await returns a tuple of their results, `std::monostate` for void.
/// **Errors**: the await throws, after all have ended, the first exception in the order of the arguments; other
/// exceptions are lost. A task that is empty or was started before ends the process.
///
/// **Blocking**: never. **Threads**: any; if several threads run the loop, the tasks may run in any of them,
/// concurrently.
/// **Lifetime**: a task that is destroyed while it waits here stays until nothing refers to any of these tasks
/// (`task`). To stop all tasks, give them one `std::stop_token`.
template <class... T>
[[nodiscard]] auto when_all(task<T>... tasks) noexcept {
  return detail::joint_of<T...>{std::move(tasks)...};
}

/// Awaits a vector of tasks. **Returns**: the await returns a vector of their results. **Blocking**, **Threads** and
/// **Errors**: as for tasks that are arguments, and `std::bad_alloc`.
template <class T>
[[nodiscard]] auto when_all(std::vector<task<T>> tasks) noexcept {
  return detail::joint_of_many<T>{std::move(tasks)};
}
template <class WriteMovedTasksOrOneVectorOf = task<>>
auto when_all(const detail::any_argument&, ...) = delete;  // arguments that do not fit

}  // namespace weft
