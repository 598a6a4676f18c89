// Fibers: user-level threads, by the million, that communicate (dang2016).
//
// Cost of a switch: some nanoseconds. Of a fiber: its stack, of which only the pages that it has written are memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "weft/device.hpp"
#include "weft/error.hpp"

namespace weft {

namespace fibers {
class scheduler;
class worker;
struct fiber_state;
}  // namespace fibers

/// Options of a `fiber_scheduler`.
struct fiber_scheduler_options {
  /// Threads that run fibers.
  std::uint32_t workers = 1;
  /// Fibers that a worker can have at a time, at most 2^24. Costs address space and 3 bits each.
  std::uint32_t fibers_per_worker = 1U << 20;
  /// Of a fiber that asks for none: rounded up to whole pages; at least 16 KiB.
  std::size_t stack_bytes = std::size_t{64} << 10;
  /// Stacks of a worker that have a page below which nobody may touch: who overruns one ends with SIGSEGV at once. Each
  /// takes two of the mappings that a process may have (65530 mostly). The others are checked at each switch.
  std::uint32_t guarded_stacks = 1024;
  /// What idle workers make progress on, the i-th on the i-th of them, modulo their number; empty: others make
  /// progress, as a `progress_thread` does. They outlive the scheduler. One that is not shared has one worker alone.
  std::span<device* const> devices = {};
  /// After so long with fibers that all wait and none that moves, a line of the log says once what they wait for; the
  /// same where a worker's thread sleeps so long inside a fiber, as in a `std::mutex` that a suspended fiber holds.
  /// Zero: nobody looks. A thread looks eight times in it.
  std::chrono::milliseconds report_stuck_after{0};
  /// Whether a worker that has nothing to run begins fibers that were spawned for any worker and that another has not
  /// begun yet. They stay where they begin. Devices are shared then.
  bool steal = false;
};

/// Options of `fiber_scheduler::spawn`.
struct fiber_options {
  static constexpr std::uint32_t any_worker = ~std::uint32_t{0};  ///< one after the other
  /// The worker that runs it; any: in turns, or who steals it.
  std::uint32_t worker = any_worker;
};

/// A name for a fiber, to signal it. Copied freely; valid as long as the scheduler is, also when the fiber has ended.
class fiber_ref {
 public:
  fiber_ref() = default;

  /// Makes the fiber go on that is, or next will be, in `this_fiber::wait()`. Several before it goes on are one.
  /// **Threads**: any, in handlers, too. **Blocking**: never.
  void signal() const noexcept;

  friend bool operator==(const fiber_ref&, const fiber_ref&) = default;

 private:
  friend class fibers::scheduler;
  fibers::worker* home_ = nullptr;
  std::uint32_t slot_ = 0;
};

/// A fiber that was spawned. Its owner joins it, or lets it go on alone.
class [[nodiscard]] fiber {
 public:
  fiber() noexcept = default;
  /// Takes the other's fiber over.
  fiber(fiber&& other) noexcept : state_{std::exchange(other.state_, nullptr)} {}
  /// The same, after its own was joined.
  fiber& operator=(fiber&& other) noexcept;
  /// Joins it where nobody has; what it threw is lost then, but for a line in the log.
  ~fiber();

  /// Waits until it has ended. **Blocking**: a fiber suspends, a thread sleeps. **Errors**: what the fiber's function
  /// threw. **Threads**: one, once.
  void join();
  /// Lets it go on with nobody to join it. What its function throws then ends the process.
  void detach() noexcept;
  /// Whether there is a fiber to join.
  [[nodiscard]] bool is_joinable() const noexcept { return state_ != nullptr; }
  /// Its name. Only while it is joinable.
  [[nodiscard]] fiber_ref ref() const noexcept;

 private:
  friend class fiber_scheduler;
  explicit fiber(fibers::fiber_state* state) noexcept : state_{state} {}
  fibers::fiber_state* state_ = nullptr;
};

/// Threads ("workers") that run fibers. A fiber stays with one worker unless it moves itself (`this_fiber::move_to`):
/// what is thread-local to that is the same before and after each wait, and is shared with the other fibers of the
/// worker.
///
/// A worker runs what is ready, in turns, and makes progress when nothing is and at least after each 64 rounds. An
/// idle one sleeps as `device::wait` does.
///
/// **Source**: dang2016, 3.2.
class fiber_scheduler {
 public:
  /// **Blocking**: briefly, for the threads. **Errors**: `invalid_argument`; std::system_error where there is no
  /// thread; `invalid_state` for a processor that has no switch (x86-64 and ARM64 have one).
  explicit fiber_scheduler(const fiber_scheduler_options& options = {});
  /// **Blocking**: until the workers have stopped. All fibers have ended, otherwise the process ends with a message.
  ~fiber_scheduler();
  fiber_scheduler(const fiber_scheduler&) = delete;
  fiber_scheduler& operator=(const fiber_scheduler&) = delete;

  /// A fiber that calls `function`, which is moved to its stack. **Threads**: any, fibers and handlers, too.
  /// **Blocking**: never. **Errors**: `out_of_memory` where there is no stack, or no slot, to be had.
  template <class Function>
  fiber spawn(Function&& function, const fiber_options& options = {}) {
    using stored = std::decay_t<Function>;
    static_assert(std::is_invocable_v<stored&>, "a fiber's function is called without arguments");
    static_assert(sizeof(stored) <= function_bytes_max, "capture less: by reference, or by a pointer");
    static_assert(std::is_nothrow_move_constructible_v<stored>, "a fiber's function is moved to its stack");
    stored kept(std::forward<Function>(function));
    const begun begin = prepare(options, sizeof(stored), alignof(stored));
    ::new (begin.function) stored(std::move(kept));
    return start(begin, [](void* what) {
      stored& called = *static_cast<stored*>(what);
      struct at_end {
        stored& what;
        ~at_end() { what.~stored(); }
      } const end{called};
      called();
    });
  }

  /// How many fibers there are that have not ended.
  [[nodiscard]] std::uint64_t alive() const noexcept;
  /// How many workers.
  [[nodiscard]] std::uint32_t workers() const noexcept;

 private:
  static constexpr std::size_t function_bytes_max = 4096;
  struct begun {
    fibers::fiber_state* state;
    void* function;
    bool may_go;
  };
  [[nodiscard]] begun prepare(const fiber_options& options, std::size_t bytes, std::size_t alignment);
  [[nodiscard]] fiber start(const begun& begin, void (*call)(void*)) noexcept;

  std::unique_ptr<fibers::scheduler> state_;
};

/// What the fiber that runs now does.
namespace this_fiber {

/// Whether the caller is a fiber of Weft's. For this and the next: **Blocking**: never. **Threads**: any.
[[nodiscard]] bool is_one() noexcept;
/// Its name, for others to signal it; of none where the caller isn't a fiber.
[[nodiscard]] fiber_ref self() noexcept;

/// Lets the others run that are ready (ThreadYield). In a thread: the system's yield.
void yield() noexcept;
/// Suspends it until it is signalled, or has been while it ran (ThreadWait). It may return for no reason, and a signal
/// that comes while it is about to begin, or yields, is one with that: so set a condition before you signal, and call
/// this in a loop that looks at it first. **Errors**: `invalid_state` in a thread that is no fiber, and inside a
/// handler.
void wait();
/// Goes on at another worker, the `worker`-th: what is thread-local is another's afterwards. References to it stay
/// right; a signal by one of them goes by way of its first worker, so it waits while that one runs something long.
/// **Errors**: `invalid_argument` where there is no such worker; `out_of_memory` where that has as many fibers as it
/// can; `invalid_state` as for `wait`.
void move_to(std::uint32_t worker);

}  // namespace this_fiber

}  // namespace weft
