// SPDX-License-Identifier: BSD-3-Clause
// Switches of a worker's thread between its own stack and those of its fibers.
//
// Cost of a switch from one fiber to the next: the next bit (`ready_bits`), the heads of both fibers, the registers
// (`context`), two words of the exceptions that are being handled. A fiber that ends goes by way of the worker's own
// stack, a switch more.
#pragma once

#include <cstddef>
#include <utility>

#include "base/assertion.hpp"
#include "fiber/fiber_state.hpp"

namespace weft::fibers {

/// **Threads**: the worker's.
class switching {
 public:
  enum class leaving { by_wait, by_yield };

  /// The calling thread runs the fibers from now on.
  void use_this_thread() noexcept;

  /// The running fiber: null on the worker's own stack.
  [[nodiscard]] fiber_state* running() const noexcept { return running_; }
  /// Called on the worker's own stack: runs `first` and its successors until one goes back, has ended or has overrun
  /// its stack.
  void run(fiber_state& first) noexcept {
    WEFT_ASSERT(running_ == nullptr && ended_ == nullptr);
    go<leaving::by_wait>(own_, own_exceptions_, first);
  }
  /// The fiber that has ended since the last `run` began, whose stack was left for good; null: none.
  [[nodiscard]] fiber_state* take_ended() noexcept { return std::exchange(ended_, nullptr); }
  /// Whether a fiber was found out that has overrun its stack.
  [[nodiscard]] bool has_overrun() const noexcept { return has_overrun_; }

  /// Called by a fiber: `to` runs. Nothing follows on the stack that is left, so that the switch keeps all that is
  /// needed later.
  template <leaving How>
  [[gnu::always_inline]] void go(fiber_state& from, fiber_state& to) noexcept {
    WEFT_ASSERT_CHECKED(&from == running_ && &from != &to);
    go<How>(from.registers, from.exceptions, to);
  }
  /// Called by a fiber: the worker's own stack runs.
  void go_back(fiber_state& from) noexcept {
    WEFT_ASSERT_CHECKED(&from == running_);
    running_ = nullptr;
    from.exceptions = *exceptions_;
    *exceptions_ = own_exceptions_;
    from.registers.switch_to(own_);
  }
  /// Called by a fiber that has ended.
  [[noreturn]] void end(fiber_state& me) noexcept {
    WEFT_ASSERT(&me == running_);
    check_stack(me);
    ended_ = &me;
    running_ = nullptr;
    *exceptions_ = own_exceptions_;
    me.registers.end_for(own_);
  }

  /// Called by a fiber: where it has overrun its stack, that ends the process. The error is printed on the worker's own
  /// stack: this one has no room for it.
  [[gnu::always_inline]] static void check_stack(fiber_state& fiber) noexcept {
    const auto* const here = static_cast<const std::byte*>(__builtin_frame_address(0));
    if (here - fiber.stack.bottom >= least_left && fiber.mark == fiber_state::whole) [[likely]]
      return;
    end_overrun(fiber);
  }

 private:
  friend struct debugger_layout;
  static constexpr std::ptrdiff_t least_left = 256;  // below this much, the next call may be beyond a stack's bottom

  template <leaving How>
  [[gnu::always_inline]] void go(context& from, exception_globals& saved, fiber_state& to) noexcept {
    running_ = &to;
    saved = *exceptions_;
    *exceptions_ = to.exceptions;
    if constexpr (How == leaving::by_yield) {
      from.jump_to(to.registers);
    } else {
      from.switch_to(to.registers);
    }
  }
  // Static, as another address at hand would cost each suspension a register.
  [[noreturn]] static void end_overrun(fiber_state& fiber) noexcept;

  fiber_state* running_ = nullptr;
  bool has_overrun_ = false;
  fiber_state* ended_ = nullptr;
  exception_globals* exceptions_ = nullptr;  // variable of the thread
  context own_;
  exception_globals own_exceptions_;
};

}  // namespace weft::fibers
