// SPDX-License-Identifier: BSD-3-Clause
// An event inside a process, which any number of coroutines may await.
//
// Cost: 64 bytes in the frame of each coroutine that waits; one exchange for each await, one for the set. A task that
// is destroyed while it waits passes over all that wait.
#pragma once

#include <atomic>
#include <coroutine>

#include "weft/detail/suspension.hpp"

namespace weft {

class run_loop;
namespace core {
class run_loop_state;
}

/// Is set or not. If it is set, a coroutine that awaits it is not suspended. Otherwise the coroutine is suspended;
/// `set()` puts all waiting coroutines into the ready queue of the loop, in the order of their awaits.
///
/// All functions: **Blocking**: never; an await suspends the coroutine. **Threads**: any. **Errors**: none.
/// **Lifetime**: if it is destroyed while coroutines wait for it, or after its loop, the process ends with a message.
/// If an exception is leaving its scope, their awaits throw `cancelled` instead.
class event {
 public:
  /// Not set. Coroutines that wait for it go on in `loop`.
  explicit event(run_loop& loop) noexcept;
  template <class WriteReference = run_loop>
  explicit event(...) = delete;  // write a run_loop
  ~event();
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  /// Sets it: all coroutines that wait for it become ready.
  void set() noexcept;
  /// Unsets it: later awaits suspend.
  void reset() noexcept;
  /// Whether it is set now.
  [[nodiscard]] bool is_set() const noexcept;

  /// The awaiter of `co_await`.
  class awaiter final : public detail::suspension {
   public:
    /// Waits for `awaited`.
    explicit awaiter(event& awaited) noexcept : event_{&awaited} {}
    /// Whether the event is set: then the coroutine is not suspended.
    [[nodiscard]] bool await_ready() const noexcept {
      // [event.own] relaxed: no other thread knows the awaiter yet.
      return event_.load(std::memory_order_relaxed)->is_set();
    }
    /// Suspends the coroutine. False: the event was set just now, and the coroutine continues.
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> awaiting) noexcept {
      suspend(awaiting);
      // [event.own] relaxed: no other thread knows the awaiter yet.
      return event_.load(std::memory_order_relaxed)->enter(*this);
    }
    /// Returns nothing. **Errors**: `cancelled` if an exception has destroyed the event.
    void await_resume() {
      resumed();
      if (is_lost_) refuse_lost();
    }
    /// Takes the coroutine out of the event, or, once the event was set, holds its task until it would be resumed.
    bool abandon(detail::ready_node& task_root) noexcept override {
      if (is_abandoned) return false;
      // [event.is_taken] acquire <- [event.taken]: the event may be gone.
      event* const waits_for = event_.load(std::memory_order_acquire);
      if (waits_for == nullptr || !waits_for->give_up(*this)) return suspension::abandon(task_root);
      resumed();
      return false;
    }

   private:
    friend class event;
    [[noreturn]] static void refuse_lost();

    std::atomic<event*> event_;  // null once the event was set
    bool is_lost_ = false;       // the event has gone
  };
  /// Waits until it is set.
  [[nodiscard]] awaiter operator co_await() noexcept { return awaiter{*this}; }

 private:
  [[nodiscard]] bool enter(detail::ready_node& node) noexcept;
  void release(void* waiting, bool is_lost) noexcept;
  [[nodiscard]] bool give_up(detail::ready_node& node) noexcept;
  // Stands in `state_` while a thread takes a coroutine out: for some instructions.
  [[nodiscard]] const void* being_changed() const noexcept { return reinterpret_cast<const char*>(this) + 1; }
  [[nodiscard]] void* settled() const noexcept;

  core::run_loop_state* loop_;
  // Null: not set. The address of this event: set. `being_changed()`. Otherwise the coroutine that awaited last.
  std::atomic<void*> state_{nullptr};
};

}  // namespace weft
