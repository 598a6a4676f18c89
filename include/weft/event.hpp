// An event inside a process, which any number of coroutines may await.
//
// Cost: 48 bytes in the frame of each coroutine that waits; one exchange for each await, one for the set.
#pragma once

#include <atomic>
#include <coroutine>

#include "weft/detail/suspension.hpp"

namespace weft {

class run_loop;
namespace core {
class run_loop_state;
}

/// Is set or not. If it is set, a coroutine that awaits it goes on at once. Otherwise the coroutine is suspended;
/// `set()` puts all waiting coroutines into the ready queue of the loop, in the order of their awaits.
///
/// All functions: **Blocking**: never; an await suspends the coroutine. **Threads**: any. **Errors**: none.
/// **Lifetime**: if it is destroyed while coroutines wait for it, or after its loop, the process ends with a message.
class event {
 public:
  /// Not set. Coroutines that wait for it go on in `loop`.
  explicit event(run_loop& loop) noexcept;
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
    /// Waits for `of`.
    explicit awaiter(event& of) noexcept : of_{&of} {}
    /// Whether the event is set: then the coroutine goes on at once.
    [[nodiscard]] bool await_ready() const noexcept { return of_->is_set(); }
    /// Suspends the coroutine. False: the event was set just now, and the coroutine goes on.
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> by) noexcept {
      suspend(by);
      return of_->enter(*this);
    }
    /// Returns nothing.
    void await_resume() noexcept { resumed(); }

   private:
    event* of_;
  };
  /// Waits until it is set.
  [[nodiscard]] awaiter operator co_await() noexcept { return awaiter{*this}; }

 private:
  [[nodiscard]] bool enter(detail::ready_node& node) noexcept;

  core::run_loop_state* loop_;
  // Null: not set. The address of this event: set. Otherwise the coroutine that awaited last.
  std::atomic<void*> state_{nullptr};
};

}  // namespace weft
