// Something that happens inside a process, to be awaited by any number of coroutines.
//
// Cost: 48 bytes in the frame of each coroutine that waits; an exchange for each that comes, one for all when it is
// set.
#pragma once

#include <atomic>
#include <coroutine>

#include "weft/detail/suspension.hpp"

namespace weft {

class run_loop;
namespace core {
class run_loop_state;
}

/// Is set or not. `co_await` goes on at once where it is; otherwise, when it is set, through the ready queue of its
/// loop, in the order in which the coroutines came.
///
/// **Threads**: any, for everything. **Lifetime**: not while coroutines wait for it, which ends the process with a
/// message, and not longer than its loop.
class event {
 public:
  explicit event(run_loop& loop) noexcept;
  ~event();
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  /// Lets all that wait go on. **Blocking**: never.
  void set() noexcept;
  /// Lets those that come from now on wait.
  void reset() noexcept;
  [[nodiscard]] bool is_set() const noexcept;

  class awaiter final : public detail::suspension {
   public:
    explicit awaiter(event& of) noexcept : of_{&of} {}
    [[nodiscard]] bool await_ready() const noexcept { return of_->is_set(); }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> by) noexcept {
      suspend(by);
      return of_->enter(*this);
    }
    void await_resume() noexcept { resumed(); }

   private:
    event* of_;
  };
  [[nodiscard]] awaiter operator co_await() noexcept { return awaiter{*this}; }

 private:
  [[nodiscard]] bool enter(detail::ready_node& node) noexcept;

  core::run_loop_state* loop_;
  // Null: not set. This event itself: set. Else the coroutine that came last.
  std::atomic<void*> state_{nullptr};
};

}  // namespace weft
