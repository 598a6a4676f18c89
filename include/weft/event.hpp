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
  /// Not set; whoever waits for it goes on in `loop`.
  explicit event(run_loop& loop) noexcept;
  ~event();
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  /// Lets all that wait go on. **Blocking**: never.
  void set() noexcept;
  /// Lets those that come from now on wait.
  void reset() noexcept;
  /// Whether it is set now. **Blocking**: never.
  [[nodiscard]] bool is_set() const noexcept;

  /// What `co_await` makes of it.
  class awaiter final : public detail::suspension {
   public:
    /// Waits for `of`.
    explicit awaiter(event& of) noexcept : of_{&of} {}
    /// Goes on at once where it is set.
    [[nodiscard]] bool await_ready() const noexcept { return of_->is_set(); }
    /// False: it was set just now, and the coroutine goes on.
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> by) noexcept {
      suspend(by);
      return of_->enter(*this);
    }
    /// Gives back nothing.
    void await_resume() noexcept { resumed(); }

   private:
    event* of_;
  };
  /// Waits until it is set.
  [[nodiscard]] awaiter operator co_await() noexcept { return awaiter{*this}; }

 private:
  [[nodiscard]] bool enter(detail::ready_node& node) noexcept;

  core::run_loop_state* loop_;
  // Null: not set. This event itself: set. Else the coroutine that came last.
  std::atomic<void*> state_{nullptr};
};

}  // namespace weft
