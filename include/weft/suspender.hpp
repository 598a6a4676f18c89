// SPDX-License-Identifier: BSD-3-Clause
// How user-level threads wait: the interface between Weft and their scheduler.
#pragma once

namespace weft {

/// A scheduler of user-level threads ("fibers") implements this class. Then Weft's calls that wait suspend the calling
/// fiber, and leave its thread to other fibers. Weft's `fiber_scheduler` has one for each of its threads. For another
/// scheduler, derive from this class and call `use_suspender` in each of its threads.
///
/// Weft suspends no fiber inside a handler, a hook or another function of the program that it calls; such a function
/// must not suspend its fiber by the scheduler's own calls either, which Weft can't see.
///
/// Coroutines that a fiber runs (`run_loop`) continue on this fiber, also where the scheduler switches fibers by
/// itself. What else the scheduler's fibers keep in variables of the thread is its own affair.
///
/// Fibers may move between threads while they are suspended, also if each thread has a suspender of its own. Then two
/// suspenders serve one wait. The one of the thread in which the fiber called Weft names it (`current`) and resumes it
/// (`resume`), so it must exist until the fiber has returned from that call. The one of the thread that runs the fiber
/// now suspends it (`suspend`). So a scheduler whose fibers move gives names that hold in all of its threads, such as
/// the addresses of its fibers.
///
/// All functions: **Errors**: may not throw.
/// **Source**: dang2016, 2.2 (ThreadWait and ThreadSignal).
class suspender {
 public:
  suspender() = default;
  suspender(const suspender&) = delete;
  suspender& operator=(const suspender&) = delete;

  /// Names the fiber that the calling thread runs now, for `resume` of this suspender. Null if it runs none: then the
  /// thread itself waits.
  /// **Blocking**: may not block. **Threads**: Weft calls it in the thread that uses this suspender.
  [[nodiscard]] virtual void* current() noexcept = 0;

  /// Suspends the running fiber until it is resumed. If `resume` came before, other ready fibers run first, and then
  /// this fiber goes on: a fiber that polls calls `resume` for itself and then `suspend`. It may return without a
  /// `resume`, as its caller tests its condition again. The fiber continues in any thread of its scheduler that uses a
  /// suspender.
  /// **Blocking**: until then. **Threads**: as for `current`.
  virtual void suspend() noexcept = 0;

  /// Makes a fiber that `current` of this suspender has named go on. The fiber may be running, also in another thread,
  /// or be resumed already, and several threads may resume it at a time. It stays in the call of Weft in which it waits
  /// until `resume` has returned, so that a fiber that was resumed may be the last of its scheduler, and the suspender
  /// may be destroyed after it.
  /// **Blocking**: may not block. **Threads**: Weft calls it in any thread, also inside `progress()`.
  virtual void resume(void* which) noexcept = 0;

 protected:
  ~suspender() = default;
};

/// Sets the suspender by which calls of the calling thread wait; null, as at first: the thread itself waits.
/// **Returns**: the one before. **Blocking**: never. **Threads**: any, each for itself. **Errors**: none.
suspender* use_suspender(suspender* chosen) noexcept;

}  // namespace weft
