// SPDX-License-Identifier: BSD-3-Clause
// The state of a run loop: coroutines that are ready, posts to be tried again, and conditions to be asked.
//
// A look holds a lock for which no thread waits: a look that is under way serves all threads.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "base/assertion.hpp"
#include "base/intrusive_stack.hpp"
#include "base/standstill.hpp"
#include "base/try_lock.hpp"
#include "weft/detail/awaiters.hpp"
#include "weft/detail/copy_mark.hpp"
#include "weft/run_loop.hpp"
#include "weft/task.hpp"

namespace weft::core {

using detail::ready_node;

class run_loop_state final : public detail::task_owner {
 public:
  explicit run_loop_state(weft::device& dev) : device_{&dev}, local_{dev.runtime(), *this} { witness_.emplace(*this); }
  /// Ends the process where a coroutine still waits, unless an exception leaves the loop's scope: then destroys the
  /// spawned tasks first.
  ~run_loop_state();

  /// Whether this is the copy in a child of fork(), whose parent runs the coroutines.
  [[nodiscard]] bool is_copy() const noexcept { return copy_.is_copy(); }
  [[nodiscard]] weft::device& device() const noexcept { return *device_; }
  [[nodiscard]] device_state& device_of() const noexcept { return *device_->state_; }
  /// The object that awaited operations signal; the record's context says which operation.
  [[nodiscard]] completion& local() noexcept { return local_; }

  // **Threads**: any, unless a function says otherwise. The caller may be the last one that has kept the loop alive.
  void make_ready(ready_node& node) noexcept;
  void make_all_ready(ready_node* first) noexcept;
  void post_later(detail::posting& posting) noexcept;
  void watch(detail::watching& condition) noexcept;
  /// Holds an operation that could not be cancelled now; each look tries again.
  void cancel_later(detail::stoppable& operation) noexcept;
  /// Implements the functions of `run_loop` with these names.
  void cancel_all() noexcept;
  [[nodiscard]] std::vector<loop_wait> waits();
  /// A wait may have been given up: look.
  void look_again() noexcept;
  void wake() noexcept { wake(device_->runtime(), &local_); }
  void set(std::atomic<bool>& flag) noexcept;

  void spawn(std::coroutine_handle<detail::task_promise<void>> coroutine);
  [[nodiscard]] std::size_t spawned() const noexcept {
    // [run_loop.spawned] acquire <- [run_loop.over]: the tasks' stores.
    return spawned_.load(std::memory_order_acquire);
  }
  void ended(detail::task_promise_base& promise) noexcept override;
  void rethrow();

  /// Repeats posts, and tests the conditions that coroutines wait for. False: another thread does so.
  [[nodiscard]] bool look() noexcept;
  [[nodiscard]] ready_node* take_ready() noexcept;
  /// Sleeps, or makes progress, until something is ready or `is_over(of)`. Returns false after `options.timeout`.
  bool wait(bool (*is_over)(void*), void* argument, const wait_options& options);

  std::atomic<std::uint32_t> events{0};  // that were made for it

 private:
  class local_completion final : public completion {
   public:
    local_completion(weft::runtime& owner, run_loop_state& loop) noexcept : completion{owner}, loop_{&loop} {}
    answer signal(completion_record&& record) noexcept override;
    using completion::signalled;

   private:
    run_loop_state* loop_;
  };

  // The loop's lines in the report of a process in which nothing moves. Its device counts moves.
  class loop_witness final : public base::witness {
   public:
    explicit loop_witness(run_loop_state& loop) : loop_{&loop} {}
    [[nodiscard]] sight look() noexcept override { return {}; }
    void describe(base::report& into) override { loop_->describe(into); }

   private:
    run_loop_state* loop_;
    base::witness_entry entry_{*this};
  };

  // They stand in the order in which they came.
  struct node_list {
    void add(ready_node& node) noexcept {
      node.behind = nullptr;
      (last == nullptr ? first : last->behind) = &node;
      last = &node;
    }
    /// Takes out the node behind `before`; the first one where that is null.
    void remove_behind(ready_node* before) noexcept {
      ready_node*& link = before == nullptr ? first : before->behind;
      WEFT_ASSERT_CHECKED(link != nullptr);
      if (last == link) last = before;
      link = link->behind;
    }
    /// Puts the node behind `before`, or first where that is null.
    void add_behind(ready_node* before, ready_node& node) noexcept {
      ready_node*& link = before == nullptr ? first : before->behind;
      node.behind = link;
      link = &node;
      if (last == before) last = &node;
    }
    ready_node* first = nullptr;
    ready_node* last = nullptr;
  };
  // The coroutines that wait for one object.
  struct watched {
    const completion* object;
    bool is_for_all;
    node_list waiting;
  };
  struct sleep;

  void describe(base::report& into);
  static void wake(weft::runtime& rt, const completion* local) noexcept { local_completion::signalled(rt, local); }
  void post_all_again() noexcept;
  void cancel_all_again() noexcept;
  void cancel_waits() noexcept;
  void take_refused() noexcept;
  // Under `looking_`.
  [[nodiscard]] bool has_to_try_again() const noexcept {
    return to_post_.first != nullptr || to_cancel_.first != nullptr || !tickets_to_cancel_.empty();
  }
  [[nodiscard]] bool take_in();
  void ask(watched& group, bool stops) noexcept;
  static void drop_abandoned(ready_node* all) noexcept;
  [[nodiscard]] bool has_changed(const sleep& since) noexcept;
  sleep prepare_to_sleep() noexcept;
  void end_tasks() noexcept;
  void destroy_tasks() noexcept;
  [[nodiscard]] bool has_destroyed_all() noexcept;
  void keep(detail::task_promise_base& task) noexcept;
  void forget(detail::task_promise_base& task) noexcept;

  weft::device* device_;
  local_completion local_;
  base::intrusive_stack<ready_node> ready_;
  base::intrusive_stack<ready_node> refused_;   // operations to be posted again
  base::intrusive_stack<ready_node> coming_;    // waits to add to `watched_`
  base::intrusive_stack<ready_node> unwanted_;  // operations to be cancelled
  std::atomic<bool> stops_{false};
  std::atomic<bool> cancels_{false};  // all that coroutines wait for
  std::atomic<std::size_t> spawned_{0};
  std::mutex tasks_mutex_;
  detail::task_promise_base* tasks_ = nullptr;  // all that were spawned and have not ended

  // A thread that looks holds this lock; it guards the members below.
  base::try_lock looking_;
  std::vector<watched> watched_;
  node_list to_post_;
  node_list to_cancel_;
  std::vector<std::uint64_t> tickets_to_cancel_;  // tickets of operations that `cancel_all` could not cancel yet
  std::atomic<bool> has_to_repeat_{false};        // one of the two
  std::atomic<std::uint64_t> watched_since_{0};   // how many groups there have been

  std::mutex failures_mutex_;
  std::vector<std::exception_ptr> failures_;
  std::atomic<bool> has_failures_{false};
  detail::copy_mark copy_;
  std::optional<loop_witness> witness_;  // until the destructor begins
};

}  // namespace weft::core
