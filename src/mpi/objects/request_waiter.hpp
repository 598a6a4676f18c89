// SPDX-License-Identifier: BSD-3-Clause
// What the end of a request does beside its result: each request has a slot for the one fiber that waits for it, which
// its end wakes, or for the continuation that is attached to it, which its end counts down.
//
// Cost: nothing for requests of programs without fibers and continuations. Else one exchange at the end of a request,
// one at the beginning of the wait or at the attachment; a wake-up switches to the fiber. No list is searched, however
// many fibers or continuations wait.
#pragma once

#include <cstdint>

#include "weft/detail/atomics.hpp"
#include "weft/detail/fiber_wait.hpp"

namespace weft::mpi {

/// A request's slot for the fiber that waits for it, or the continuation that is attached to it. **Threads**: one ends
/// it, one enters and leaves, or attaches and detaches. Progress: wait-free. Linearization: its changes of `waiter_`.
/// Model tests: tests/model/request_waiter_test.cpp, tests/model/continuation_test.cpp.
template <class Waiter, class Atomics = weft::detail::std_atomics>
class basic_waiter_slot {
 public:
  /// Its states, beside `never_awaited`, the address of a waiter, and that of a continuation with the bit `attached`.
  static constexpr std::uintptr_t vacant = 0, ended = 1, followed = 3, attached = 2;
  static_assert(alignof(Waiter) > followed && weft::detail::never_awaited == attached);

  /// `fresh`: `vacant`, or `never_awaited`.
  explicit basic_waiter_slot(std::uintptr_t fresh) noexcept : waiter_{fresh} {}
  /// Likewise, before the operation begins again.
  void reset(std::uintptr_t fresh) noexcept {
    // [own] No other thread knows of the operation yet.
    waiter_.store(fresh, std::memory_order_relaxed);
  }
  /// Whether no fiber can wait here: it stays so while the operation lasts.
  [[nodiscard]] bool is_never_awaited() const noexcept { return has(weft::detail::never_awaited); }
  /// Whether a function follows the end of the request.
  [[nodiscard]] bool is_followed() const noexcept { return has(followed); }

  /// False: the request ends or has ended, or another waiter is here.
  [[nodiscard]] bool try_enter(Waiter& waiter) noexcept {
    std::uintptr_t seen = vacant;
    // [waiter.enter] release -> [waiter.end]: the waiter.
    return waiter_.compare_exchange_strong(seen, word_of(waiter), std::memory_order_release, std::memory_order_relaxed);
  }
  /// False: the end of the request has taken the waiter, which it does not use again after its `note`; or the waiter
  /// has not entered here.
  [[nodiscard]] bool try_leave(Waiter& waiter) noexcept {
    std::uintptr_t seen = word_of(waiter);
    // relaxed: it carries nothing. Who has not taken the waiter never uses it.
    return waiter_.compare_exchange_strong(seen, vacant, std::memory_order_relaxed, std::memory_order_relaxed);
  }
  /// Whether the request ends or has ended.
  [[nodiscard]] bool has_ended() const noexcept { return has(ended); }

  /// Attaches a continuation, whose address is a multiple of 4, in place of `seen`: `vacant`; or `never_awaited`, where
  /// the end of the request may overlook it, so that another thread has to look for the end, too. False: the request
  /// ends or has ended, or its slot has something else.
  [[nodiscard]] bool try_attach(const void* continuation, std::uintptr_t seen) noexcept {
    // [waiter.attach] release -> [waiter.end]: the continuation.
    return waiter_.compare_exchange_strong(seen, attached_word(continuation), std::memory_order_release,
                                           std::memory_order_relaxed);
  }
  /// Leaves `never_awaited`, which is right also where the end may have overlooked the continuation. False: the end of
  /// the request has taken the continuation, or another thread has that saw the end.
  [[nodiscard]] bool try_detach(const void* continuation) noexcept {
    std::uintptr_t seen = attached_word(continuation);
    // relaxed: it carries nothing. The thread that has taken the continuation is the one that uses it.
    return waiter_.compare_exchange_strong(seen, weft::detail::never_awaited, std::memory_order_relaxed,
                                           std::memory_order_relaxed);
  }
  /// The continuation that is attached, or null.
  [[nodiscard]] void* continuation() const noexcept {
    return continuation_in(waiter_.load(std::memory_order_relaxed));  // [own] by the thread that attaches and detaches
  }

  /// Returns what it had in it, for the functions below. The request may be gone before the waiter's `note`.
  [[nodiscard]] std::uintptr_t end() noexcept {
    // [waiter.end] acquire <- [waiter.enter], [waiter.attach]: the waiter, or the continuation.
    return waiter_.exchange(ended, std::memory_order_acquire);
  }
  [[nodiscard]] static Waiter* waiter_in(std::uintptr_t found) noexcept {
    return found > followed && (found & attached) == 0 ? reinterpret_cast<Waiter*>(found) : nullptr;
  }
  [[nodiscard]] static void* continuation_in(std::uintptr_t found) noexcept {
    return found > followed && (found & attached) != 0 ? reinterpret_cast<void*>(found - attached) : nullptr;
  }
  /// What has to be in the slot where a continuation is attached before the operation begins.
  [[nodiscard]] static std::uintptr_t attached_word(const void* continuation) noexcept {
    return reinterpret_cast<std::uintptr_t>(continuation) | attached;
  }

 private:
  static std::uintptr_t word_of(Waiter& waiter) noexcept { return reinterpret_cast<std::uintptr_t>(&waiter); }
  [[nodiscard]] bool has(std::uintptr_t value) const noexcept {
    return waiter_.load(std::memory_order_relaxed) == value;  // [hint] the result is behind `request::is_done`
  }

  typename Atomics::template atomic<std::uintptr_t> waiter_;
};

/// How many of the requests that a waiter has entered have not noted their end, and whether its event is set or about
/// to be. **Threads**: the waiter; each request's end calls `note` once. Progress: wait-free. Linearization: the
/// operations on `word_`. Model test: tests/model/request_waiter_test.cpp.
template <class Atomics = weft::detail::std_atomics>
class basic_end_count {
 public:
  /// Before the waiter enters one more request.
  void add() noexcept { word_.fetch_add(1, std::memory_order_relaxed); }  // [own] `try_enter` publishes it
  /// The waiter has entered one less than it added.
  void drop() noexcept { word_.fetch_sub(1, std::memory_order_relaxed); }  // [own]
  /// The waiter has entered all. True: all have ended, and no thread sets the event.
  [[nodiscard]] bool close() noexcept {
    // relaxed: `is_empty` follows.
    return word_.fetch_sub(1, std::memory_order_relaxed) == 1;
  }
  /// A request has ended: calls `set`, which sets the event, for the last request and for the first urgent one. The
  /// waiter may be gone afterwards.
  template <class Set>
  void note(bool is_urgent, const Set& set) noexcept {
    // relaxed: one urgent request sets the event, whichever it is.
    if (is_urgent && (word_.fetch_or(is_woken, std::memory_order_relaxed) & is_woken) == 0) set();
    // [ends.note] release -> [ends.empty]: this thread's last use of the waiter, unless it is woken now.
    if (word_.fetch_sub(1, std::memory_order_release) == 1) set();
  }
  /// Whether no request will note its end any more: after `close` and the event, or in place of `close`, where the
  /// waiter does not wait for the event.
  [[nodiscard]] bool is_empty(bool is_closed) const noexcept {
    // [ends.empty] acquire <- [ends.note]: the noting threads' last use of the waiter.
    return (word_.load(std::memory_order_acquire) & ~is_woken) == (is_closed ? 0U : 1U);
  }

 private:
  static constexpr std::uint32_t is_woken = 1U << 31;

  typename Atomics::template atomic<std::uint32_t> word_{1};  // one for the waiter, until `close`
};

/// A fiber that waits for requests, on its stack.
class request_waiter {
 public:
  /// The first request to end wakes it, or the last; one that has failed wakes it always.
  explicit request_waiter(bool first_wakes) noexcept : first_wakes_{first_wakes} {}

  /// A request that it had entered has ended. This object may be gone afterwards.
  void note(bool has_failed) noexcept {
    ends.note(first_wakes_ || has_failed, [this] { event.set(); });
  }

  weft::detail::fiber_wait event;
  basic_end_count<> ends;

 private:
  bool first_wakes_;
};

using waiter_slot = basic_waiter_slot<request_waiter>;

/// What the slot of a request that begins now has in it.
[[nodiscard]] inline std::uintptr_t fresh_slot() noexcept {
  // [hint] an operation whose fiber is not seen yet is awaited as by a thread.
  return weft::detail::fresh_wait_slot.load(std::memory_order_relaxed);
}

}  // namespace weft::mpi
