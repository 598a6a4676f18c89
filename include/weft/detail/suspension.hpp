// What coroutines wait in: links of a loop's lists, which lie in the coroutines' own frames.
//
// Cost: nothing is allocated; whoever completes what a coroutine waits for puts the link into the loop's ready queue,
// by one exchange.
//
// A coroutine that is destroyed while something outside of it still refers to its frame, an operation that is under way
// say, is *abandoned*: its frame stays until that is over, and is destroyed where it would have been resumed.
#pragma once

#include <concepts>
#include <coroutine>

namespace weft::detail {

/// A link of a ready queue: a coroutine, or one that is to be destroyed.
struct ready_node {
  ready_node* behind = nullptr;
  std::coroutine_handle<> handle;
  bool is_abandoned = false;   // `handle` is to be destroyed
  bool is_started = false;     // of a task
  bool signals_twice = false;  // of an operation: the end of its post counts as well
};

/// Where a coroutine of Weft's own kind is suspended.
class waiting_point {
 public:
  /// Makes `root`, which this is a part of, go when it would be resumed; false where nothing refers to it, so that it
  /// may go at once. **Threads**: the one that would resume it.
  virtual bool abandon(std::coroutine_handle<> root) noexcept = 0;

 protected:
  ~waiting_point() = default;
};

/// What promises of Weft's own kind have: where their coroutine is suspended, null while it is not in Weft's hands.
struct suspendable {
  waiting_point* at = nullptr;
};

/// Ends the process: a rule was broken that no exception can report.
[[noreturn]] void await_misuse(const char* what) noexcept;

/// Resumes `what`, and one after the other what that transfers to: no coroutine inside another one.
void resume(std::coroutine_handle<> what);

/// Lets `next` run in place of the coroutine that is being suspended by the caller. Symmetric transfer would need a
/// tail call, which compilers do not promise (GCC below -O2, sanitizers), and chains of tasks would grow the stack.
void transfer(std::coroutine_handle<> next);

/// A coroutine that is suspended until somebody puts it into the ready queue of its loop.
class suspension : public waiting_point, public ready_node {
 public:
  suspension(const suspension&) = delete;
  suspension& operator=(const suspension&) = delete;

  bool abandon(std::coroutine_handle<> root) noexcept override {
    if (is_abandoned) return false;  // is being destroyed
    is_abandoned = true;
    handle = root;
    return true;
  }

 protected:
  suspension() noexcept = default;
  ~suspension() {
    if (handle && !is_abandoned) await_misuse("a coroutine is destroyed while something that it awaits is under way");
  }

  template <class Promise>
  void suspend(std::coroutine_handle<Promise> which) noexcept {
    handle = which;
    if constexpr (std::derived_from<Promise, suspendable>) {
      in_ = &which.promise();
      in_->at = this;
    }
  }
  /// The coroutine goes on.
  void resumed() noexcept {
    handle = nullptr;
    if (in_ != nullptr) in_->at = nullptr;
  }

 private:
  suspendable* in_ = nullptr;
};

}  // namespace weft::detail
