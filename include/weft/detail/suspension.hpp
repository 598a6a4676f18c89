// SPDX-License-Identifier: BSD-3-Clause
// Suspended coroutines: links of a loop's lists, which lie in the coroutines' own frames.
//
// Cost: nothing is allocated. The thread that completes an awaited operation puts the coroutine's link into the loop's
// ready queue, by one exchange.
//
// A coroutine is *abandoned* if it is destroyed while something outside still refers to its frame, such as a pending
// operation. Its frame stays until that is complete, and is destroyed where the coroutine would have been resumed.
#pragma once

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstdint>

namespace weft::detail {

/// A link of a ready queue: a coroutine, or a part of one that is to be destroyed.
struct ready_node {
  ready_node* behind = nullptr;
  union {
    std::coroutine_handle<> handle{};
    ready_node* root;  // if `is_abandoned`: the task whose frame this holds
  };
  bool is_abandoned = false;
  bool is_started = false;                // whether the task has begun
  bool signals_twice = false;             // operation to cancel: the end of its post counts as well
  std::atomic<std::uint32_t> holders{0};  // references to the frame of an abandoned task

  /// Drops this abandoned part's reference to its task; the last part destroys the task.
  void let_go() const noexcept { root->drop_holder(); }
  /// Drops one reference to an abandoned task.
  void drop_holder() noexcept {
    // [await.holders] acq_rel -> [await.holders]: the frame, with all that was done to it.
    if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) handle.destroy();
  }
};

class waiting_point;

/// The part of Weft's promises that says where the coroutine is suspended; null while Weft does not hold it.
struct suspendable {
  waiting_point* point = nullptr;
};

/// A point at which a coroutine of Weft's promises is suspended.
class waiting_point {
 public:
  /// Holds the task `root`, of which this is a part, until the coroutine would be resumed; false if nothing refers to
  /// this part. **Threads**: the one that would resume the coroutine.
  virtual bool abandon(ready_node& root) noexcept = 0;

 protected:
  ~waiting_point() = default;

  /// The coroutine `which` is suspended here.
  template <class Promise>
  void hold(std::coroutine_handle<Promise> which) noexcept {
    if constexpr (std::derived_from<Promise, suspendable>) {
      promise_ = &which.promise();
      promise_->point = this;
    }
  }
  /// The coroutine is resumed.
  void release() noexcept {
    if (promise_ != nullptr) promise_->point = nullptr;
  }

 private:
  suspendable* promise_ = nullptr;  // null: a coroutine of another kind, or none
};

/// Ends the process: a rule was broken that no exception can report.
[[noreturn]] void await_misuse(const char* description) noexcept;
/// Ends the process, unless it is a child of fork(): the awaited operation is under way in the parent.
void destroyed_while_waiting() noexcept;

/// Resumes `coroutine`, then, one after the other, the coroutines to which it transfers: never one inside another.
void resume(std::coroutine_handle<> coroutine);

/// Lets `next` run in place of the coroutine that is being suspended by the caller. Symmetric transfer would need a
/// tail call, which compilers do not promise (GCC below -O2, sanitizers), and chains of tasks would grow the stack.
void transfer(std::coroutine_handle<> next);

/// Lets several coroutines run instead: one after the other, each until it is suspended.
void transfer_to_all(ready_node* first);

/// A coroutine that is suspended until a thread puts it into the ready queue of its loop.
class suspension : public waiting_point, public ready_node {
 public:
  suspension(const suspension&) = delete;
  suspension& operator=(const suspension&) = delete;

  bool abandon(ready_node& task_root) noexcept override {
    if (is_abandoned) return false;  // the coroutine is being destroyed
    // [await.hold] relaxed: the thread that drops the task holds it meanwhile, until [await.holders].
    task_root.holders.fetch_add(1, std::memory_order_relaxed);
    is_abandoned = true;
    root = &task_root;
    return true;
  }

 protected:
  suspension() noexcept = default;
  ~suspension() {
    if (!is_abandoned && handle) destroyed_while_waiting();
  }

  template <class Promise>
  void suspend(std::coroutine_handle<Promise> which) noexcept {
    handle = which;
    hold(which);
  }
  /// The coroutine is resumed.
  void resumed() noexcept {
    handle = nullptr;
    release();
  }
};

}  // namespace weft::detail
