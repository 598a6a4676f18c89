// What coroutines wait in: links of a loop's lists, which lie in the coroutines' own frames.
//
// Cost: nothing is allocated; whoever completes what a coroutine waits for puts the link into the loop's ready queue,
// by one exchange.
//
// A coroutine that is destroyed while something outside of it still refers to its frame, an operation that is under way
// say, is *abandoned*: its frame stays until that is over, and is destroyed where it would have been resumed.
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
    ready_node* root;  // where `is_abandoned`: the task whose frame this holds
  };
  bool is_abandoned = false;
  bool is_started = false;                // of a task
  bool signals_twice = false;             // of an operation: the end of its post counts as well
  std::atomic<std::uint32_t> holders{0};  // of a task that was abandoned: what still refers to its frame

  /// Nothing refers to what was abandoned here: its task goes with the last of its parts.
  void let_go() const noexcept { root->drop_holder(); }
  /// Of a task that was abandoned.
  void drop_holder() noexcept {
    // [await.holders] acq_rel -> [await.holders]: the frame, with all that was done to it.
    if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) handle.destroy();
  }
};

class waiting_point;

/// What promises of Weft's own kind have: where their coroutine is suspended, null while it is not in Weft's hands.
struct suspendable {
  waiting_point* at = nullptr;
};

/// Where a coroutine of Weft's own kind is suspended.
class waiting_point {
 public:
  /// Holds the task `root`, which this is a part of, until it would be resumed; false where nothing refers to this.
  /// **Threads**: the one that would resume it.
  virtual bool abandon(ready_node& root) noexcept = 0;

 protected:
  ~waiting_point() = default;

  /// The coroutine `which` is suspended here.
  template <class Promise>
  void hold(std::coroutine_handle<Promise> which) noexcept {
    if constexpr (std::derived_from<Promise, suspendable>) {
      in_ = &which.promise();
      in_->at = this;
    }
  }
  /// It goes on.
  void release() noexcept {
    if (in_ != nullptr) in_->at = nullptr;
  }

 private:
  suspendable* in_ = nullptr;  // null: a coroutine of another kind, or none
};

/// Ends the process: a rule was broken that no exception can report.
[[noreturn]] void await_misuse(const char* what) noexcept;

/// Resumes `what`, and one after the other what that transfers to: no coroutine inside another one.
void resume(std::coroutine_handle<> what);

/// Lets `next` run in place of the coroutine that is being suspended by the caller. Symmetric transfer would need a
/// tail call, which compilers do not promise (GCC below -O2, sanitizers), and chains of tasks would grow the stack.
void transfer(std::coroutine_handle<> next);

/// The same for several: one after the other, each until it is suspended.
void transfer_to_all(ready_node* first);

/// A coroutine that is suspended until somebody puts it into the ready queue of its loop.
class suspension : public waiting_point, public ready_node {
 public:
  suspension(const suspension&) = delete;
  suspension& operator=(const suspension&) = delete;

  bool abandon(ready_node& of) noexcept override {
    if (is_abandoned) return false;                      // is being destroyed
    of.holders.fetch_add(1, std::memory_order_relaxed);  // [stat] whoever drops the task holds it meanwhile
    is_abandoned = true;
    root = &of;
    return true;
  }

 protected:
  suspension() noexcept = default;
  ~suspension() {
    if (!is_abandoned && handle) await_misuse("a coroutine is destroyed while something that it awaits is under way");
  }

  template <class Promise>
  void suspend(std::coroutine_handle<Promise> which) noexcept {
    handle = which;
    hold(which);
  }
  /// The coroutine goes on.
  void resumed() noexcept {
    handle = nullptr;
    release();
  }
};

}  // namespace weft::detail
