// SPDX-License-Identifier: BSD-3-Clause
// The state of a fiber that does not run: a stack pointer, with the registers that a call has to preserve below it.
//
// Cost of a switch: six registers and the stack pointer to memory, as many loads back, one indirect jump. The rounding
// mode and the exception mask of floating point are not saved: they stay those of the worker.
#pragma once

#include <cstddef>

#include "base/sanitizer.hpp"

namespace weft::fibers {

/// Whether this processor's switch is written.
#if defined(__x86_64__) || defined(__aarch64__)
inline constexpr bool has_switch = true;
#else
inline constexpr bool has_switch = false;
#endif

extern "C" {
/// Pushes the registers that a call preserves, stores the stack pointer in `*from`, takes `to` as the stack pointer,
/// and pops.
[[gnu::visibility("hidden")]] void weft_fiber_switch(void** from, void* to) noexcept;
/// Switches as that one, but continues by an indirect jump. A processor predicts a return from the calls before it.
/// That is right where both fibers have called the same functions, as fibers that wait for messages mostly have (with a
/// jump, messages between 16 to 256 fibers take 10 % longer). Where they have not, a jump is predicted better (a yield
/// between two different fibers takes 15 ns, not 29).
[[gnu::visibility("hidden")]] void weft_fiber_switch_by_jump(void** from, void* to) noexcept;
}

/// Nothing is left of the function that ran on this memory before: it ended without returning.
#if defined(WEFT_ADDRESS_SANITIZER)
void forget_frames(std::byte* bottom, std::byte* top) noexcept;
#else
inline void forget_frames(std::byte* /*bottom*/, std::byte* /*top*/) noexcept {}
#endif

/// A stack and where it was left.
class context {
 public:
  /// The running stack, a thread's own: known once it is left.
  context() noexcept;
  ~context();
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  /// The first switch to this calls `entry(argument)` on the stack below `top`, which must never return.
  void prepare(std::byte* bottom, std::byte* top, void (*entry)(void*), void* argument) noexcept;

  /// Leaves the running context, `this`, for `to`; returns when a context switches back. **Threads**: one runs it.
  void switch_to(context& to) noexcept {
    leave_for(to, &saved_shadow());
    weft_fiber_switch(&pointer_, to.pointer_);
    arrived();
  }
  /// `switch_to` for a fiber that yields.
  void jump_to(context& to) noexcept {
    leave_for(to, &saved_shadow());
    weft_fiber_switch_by_jump(&pointer_, to.pointer_);
    arrived();
  }
  /// `switch_to` without return: `this` is never switched to again.
  [[noreturn]] void end_for(context& to) noexcept {
    leave_for(to, nullptr);
    weft_fiber_switch(&pointer_, to.pointer_);
    __builtin_unreachable();
  }

  /// The first thing that runs on a new stack.
#if defined(WEFT_ADDRESS_SANITIZER) || defined(WEFT_THREAD_SANITIZER)
  void arrived() noexcept;
#else
  void arrived() noexcept {}
#endif

 private:
#if defined(WEFT_ADDRESS_SANITIZER) || defined(WEFT_THREAD_SANITIZER)
  void leave_for(context& to, void** shadow) noexcept;
  void*& saved_shadow() noexcept { return shadow_; }
#else
  void leave_for(context& /*to*/, void** /*shadow*/) noexcept {}
  void*& saved_shadow() noexcept { return pointer_; }
#endif

  void* pointer_ = nullptr;
#if defined(WEFT_ADDRESS_SANITIZER) || defined(WEFT_THREAD_SANITIZER)
  // A stack as sanitizers know it.
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
  void* shadow_ = nullptr;
  context* from_ = nullptr;
#endif
};

}  // namespace weft::fibers
