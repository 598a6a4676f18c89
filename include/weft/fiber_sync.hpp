// What fibers wait for each other with: mutex, condition, barrier, event, future. Threads may use them, too.
//
// Cost: a lock that nobody else holds for longer than a few instructions, on both ways; a wait suspends the fiber, or
// lets the thread sleep.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/error.hpp"

namespace weft {

namespace fibers {

struct waiting_node;

/// Who waits, in the order in which they came. Under the lock of what it belongs to.
struct waiting_line {
  waiting_node* first = nullptr;
  waiting_node* last = nullptr;
};

}  // namespace fibers

/// A mutex that may be held over a wait: who doesn't get it is suspended, and gets it in its turn. A std::mutex would
/// block the worker, and with it the fiber that would unlock it.
///
/// Not recursive, and not for handlers. **Threads**: any; who locked it unlocks it. Fits std::unique_lock.
class fiber_mutex {
 public:
  fiber_mutex() = default;
  fiber_mutex(const fiber_mutex&) = delete;
  fiber_mutex& operator=(const fiber_mutex&) = delete;

  /// **Blocking**: until it is the caller's.
  void lock();
  /// **Blocking**: never. **Returns**: whether it is the caller's now.
  [[nodiscard]] bool try_lock();
  /// Hands it to who has waited longest. **Blocking**: never.
  void unlock();

 private:
  std::mutex guard_;
  bool is_locked_ = false;
  fibers::waiting_line line_;
};

/// A condition variable for `fiber_mutex`.
class fiber_condition {
 public:
  fiber_condition() = default;
  fiber_condition(const fiber_condition&) = delete;
  fiber_condition& operator=(const fiber_condition&) = delete;

  /// Unlocks, waits for a notification, and locks again. It doesn't return for no reason, but others may have been
  /// there first. **Blocking**: until then. **Threads**: any.
  void wait(std::unique_lock<fiber_mutex>& lock);
  /// The same until `is_done()`.
  template <class Condition>
  void wait(std::unique_lock<fiber_mutex>& lock, Condition is_done) {
    while (!is_done()) wait(lock);
  }
  /// Wakes who has waited longest. For this and the next: **Blocking**: never. **Threads**: any.
  void notify_one();
  /// Wakes all who wait now.
  void notify_all();

 private:
  std::mutex guard_;
  fibers::waiting_line line_;
};

/// Lets `count` fibers or threads go on when all have come; again and again.
class fiber_barrier {
 public:
  /// **Errors**: `invalid_argument` for none.
  explicit fiber_barrier(std::uint32_t count);
  fiber_barrier(const fiber_barrier&) = delete;
  fiber_barrier& operator=(const fiber_barrier&) = delete;

  /// **Blocking**: until all have come. **Threads**: any. What they did before is visible to all after it.
  void arrive_and_wait();

 private:
  std::mutex guard_;
  std::uint32_t count_;
  std::uint32_t missing_;
  fibers::waiting_line line_;
};

/// Something that happens once.
class fiber_event {
 public:
  fiber_event() = default;
  fiber_event(const fiber_event&) = delete;
  fiber_event& operator=(const fiber_event&) = delete;

  /// It has happened: all who wait go on. Again does nothing. **Blocking**: never. **Threads**: any, handlers, too.
  void set();
  /// **Blocking**: never. **Threads**: any.
  [[nodiscard]] bool is_set();
  /// **Blocking**: until it has happened. **Threads**: any. What was done before `set` is visible after it.
  void wait();

 private:
  std::mutex guard_;
  bool is_set_ = false;
  fibers::waiting_line line_;
};

namespace fibers {

template <class Value>
struct shared_result {
  using stored = std::conditional_t<std::is_void_v<Value>, std::monostate, Value>;
  fiber_event ready;
  std::optional<stored> value;
  std::exception_ptr thrown;
};

}  // namespace fibers

/// What `fiber_promise` will have. **Threads**: one.
template <class Value>
class [[nodiscard]] fiber_future {
 public:
  fiber_future() = default;

  /// **Blocking**: never. **Returns**: whether `get` would return at once.
  [[nodiscard]] bool is_ready() const { return of().ready.is_set(); }
  /// Takes the result. **Blocking**: until it is there. **Errors**: what the promise was given instead; `invalid_state`
  /// a second time, and where the promise went without a result.
  Value get() {
    const auto from = std::exchange(of_, nullptr);
    if (!from) throw error{errc::invalid_state, "fiber_future: there is no result, or it was taken before"};
    from->ready.wait();
    if (from->thrown) std::rethrow_exception(from->thrown);
    if constexpr (!std::is_void_v<Value>) return std::move(*from->value);
  }

 private:
  template <class>
  friend class fiber_promise;
  explicit fiber_future(std::shared_ptr<fibers::shared_result<Value>> of) : of_{std::move(of)} {}
  fibers::shared_result<Value>& of() const {
    if (!of_) throw error{errc::invalid_state, "fiber_future: there is no result, or it was taken before"};
    return *of_;
  }
  std::shared_ptr<fibers::shared_result<Value>> of_;
};

/// A result that somebody waits for. **Threads**: one. **Blocking**: never.
template <class Value>
class fiber_promise {
 public:
  fiber_promise() : to_{std::make_shared<fibers::shared_result<Value>>()} {}
  /// Takes over who waits.
  fiber_promise(fiber_promise&&) noexcept = default;
  fiber_promise& operator=(fiber_promise&&) = delete;
  ~fiber_promise() {
    if (!to_ || to_->ready.is_set()) return;
    to_->thrown = std::make_exception_ptr(error{errc::invalid_state, "fiber_promise: it went without a result"});
    to_->ready.set();
  }

  /// Once.
  fiber_future<Value> future() const { return fiber_future<Value>{to_}; }
  /// For this and the next: one of them, once.
  template <class... Result>
  void set_value(Result&&... result) {
    to_->value.emplace(std::forward<Result>(result)...);
    to_->ready.set();
  }
  /// Instead of a result.
  void set_exception(std::exception_ptr thrown) {
    to_->thrown = std::move(thrown);
    to_->ready.set();
  }

 private:
  std::shared_ptr<fibers::shared_result<Value>> to_;
};

}  // namespace weft
