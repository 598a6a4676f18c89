// How what runs on a thread waits, where that is not the thread itself: user-level threads and their schedulers.
#pragma once

namespace weft {

/// What a scheduler of user-level threads ("fibers") tells Weft, so that calls that wait suspend the fiber and leave
/// its thread to others. Weft's own `fiber_scheduler` has one for each of its threads; for another scheduler, derive
/// from this and call `use_suspender` in each of its threads.
///
/// **Source**: dang2016, 2.2 (ThreadWait and ThreadSignal).
class suspender {
 public:
  suspender() = default;
  suspender(const suspender&) = delete;
  suspender& operator=(const suspender&) = delete;

  /// Names the fiber that runs on the calling thread now, for `resume`; null where none does: then the thread waits.
  [[nodiscard]] virtual void* current() noexcept = 0;

  /// Suspends the fiber that runs now until it is resumed. A `resume` that came before counts, but others get a turn
  /// even then: who looks for something again and again resumes itself and suspends. It may return for no reason, as
  /// its caller looks again. The fiber must go on in the same thread, or in one that uses this suspender's
  /// scheduler too.
  virtual void suspend() noexcept = 0;

  /// Makes a fiber that `current` has named go on. It may be running, be resumed already, or have ended.
  /// **Threads**: any, inside progress, too. **Blocking**: may not block.
  virtual void resume(void* which) noexcept = 0;

 protected:
  ~suspender() = default;
};

/// From now on calls of the calling thread wait by `how`; null: the thread itself waits, as at first. **Returns**: what
/// it was.
suspender* use_suspender(suspender* how) noexcept;

}  // namespace weft
