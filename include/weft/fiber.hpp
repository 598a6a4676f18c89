// SPDX-License-Identifier: BSD-3-Clause
// Fibers: user-level threads that communicate, up to millions (dang2016).
//
// Cost of a switch: some nanoseconds. Cost of a fiber: its stack, of which only pages that it has written take memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "weft/device.hpp"
#include "weft/error.hpp"
#include "weft/wait.hpp"

namespace weft {

namespace fibers {
class scheduler;
struct door;
struct fiber_state;
}  // namespace fibers

namespace detail {
template <class Function>
concept fiber_callable = requires(std::decay_t<Function>& function) {
  function();
};
}  // namespace detail

/// Options of a `fiber_scheduler`.
struct fiber_scheduler_options {
  /// Threads that run fibers.
  std::uint32_t workers = 1;
  /// Fibers that a worker can have at a time, at most 2^24. One that runs at another worker than the one that has its
  /// stack counts at both. Costs address space and 3 bits each.
  std::uint32_t fibers_per_worker = 1U << 20;
  /// Size of each fiber's stack, rounded up to whole pages; at least 16 KiB, at most 1 GiB.
  std::size_t stack_bytes = std::size_t{64} << 10;
  /// Stacks of a worker with a guard page below them, at most: a fiber that overruns one ends the process with SIGSEGV
  /// at once. Each takes two of the mappings that a process may have (vm.max_map_count, mostly 65530); all guard pages
  /// of the process together take a quarter of them. Other stacks are checked at each switch.
  std::uint32_t guarded_stacks = 1024;
  /// Devices on which the workers make progress: worker i uses device i, modulo their number. If empty, another thread
  /// has to make progress, such as a `progress_thread`; the workers then look only while they have nothing to run, and
  /// for a short time. If no thread makes progress, the report of `WEFT_STUCK_AFTER` says so. Devices must outlive the
  /// scheduler. A device that is not shared can have one worker only.
  std::span<device* const> devices = {};
  /// If all fibers wait for this long and none moves, a line of the log says once for what they wait. The log also
  /// tells if a worker's thread sleeps for this long inside a fiber, as in a `std::mutex` that a suspended fiber holds.
  /// Zero: no check. Otherwise a thread of its own checks, eight times in this period.
  std::chrono::milliseconds report_stuck_after{0};
  /// Whether workers steal: a worker that has nothing to run begins fibers that were spawned for any worker and that no
  /// other worker has begun yet. A fiber stays with the worker that began it. Devices have to be shared then.
  bool steal = false;
};

/// Options of `fiber_scheduler::spawn`.
struct fiber_options {
  static constexpr std::uint32_t any_worker = ~std::uint32_t{0};  ///< round robin
  /// The worker that runs it. `any_worker`: the workers in turn as far as they have room, or the one that steals it.
  std::uint32_t worker = any_worker;
};

/// Names a fiber, to signal it. Copies are cheap. It stays valid after the fiber has ended, and after its scheduler was
/// destroyed.
class fiber_ref {
 public:
  fiber_ref() = default;

  /// Ends the `this_fiber::wait()` in which the fiber is, or the next one that it calls. Several signals before the
  /// fiber goes on count as one. Nothing happens if the reference is empty, or if the fiber has ended; the destructor
  /// of the scheduler waits for signals that have begun.
  /// **Blocking**: never. **Threads**: any, also inside handlers. **Errors**: none.
  void signal() const noexcept;

  friend bool operator==(const fiber_ref&, const fiber_ref&) = default;

 private:
  friend class fibers::scheduler;
  fibers::door* home_ = nullptr;
  std::uint32_t slot_ = 0;
  std::uint32_t scheduler_ = 0;
};

/// Owns a spawned fiber, as `std::thread` owns a thread: join it or detach it.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any, one at a time for one object;
/// fibers as well. **Errors**: none.
class [[nodiscard]] fiber {
 public:
  fiber() noexcept = default;
  /// Takes the fiber of `other` over.
  fiber(fiber&& other) noexcept : state_{std::exchange(other.state_, nullptr)} {}
  /// Takes the fiber of `other` over, then joins its own, as the destructor does. **Blocking**: as `join`.
  fiber& operator=(fiber&& other) noexcept;
  /// Joins the fiber if it is joinable. The log tells if the fiber's function threw; the exception is lost. Inside a
  /// handler, hook or node the process ends with a message if the fiber has not ended.
  /// **Blocking**: as `join`.
  ~fiber();

  /// Waits until the fiber has ended. **Blocking**: until then; a calling fiber is suspended, a calling thread sleeps.
  /// **Errors**: the exception of the fiber's function; `invalid_state` if it is not joinable, and inside a handler,
  /// hook or node.
  void join();
  /// Joins as `join`, within `limits`. If a limit is reached first, the fiber runs on and stays joinable. **Blocking**:
  /// until the fiber has ended, or a limit is reached. **Returns**: whether it has ended; then it is joined.
  /// **Errors**: as for `join`; `std::bad_alloc`; `std::system_error` if the system gives no thread for time limits.
  /// After the latter two the fiber stays joinable.
  [[nodiscard]] bool join(const wait_limits& limits);
  template <class WriteMembersInOrderOf = wait_limits>
  bool join(...) = delete;  // limits that do not fit
  /// Lets the fiber run on without a join. If its function throws, the process ends with a message.
  void detach() noexcept;
  /// Whether there is a fiber to join.
  [[nodiscard]] bool is_joinable() const noexcept { return state_ != nullptr; }
  /// A reference to the fiber; an empty one if it is not joinable.
  [[nodiscard]] fiber_ref ref() const noexcept;

 private:
  friend class fiber_scheduler;
  explicit fiber(fibers::fiber_state* state) noexcept : state_{state} {}
  fibers::fiber_state* state_ = nullptr;
};

/// Threads ("workers") that run fibers. A fiber stays with one worker unless it moves itself (`this_fiber::move_to`).
/// So it sees one set of thread-local variables before and after each wait, which all fibers of the worker use.
///
/// A worker runs its ready fibers in turn. It makes progress if none is ready, otherwise after 64 switches (at most
/// 127, as it takes ready fibers by words of 64 bits). An idle worker sleeps as `device::wait` does.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any; fibers and handlers as well.
/// **Errors**: none. **Source**: dang2016, 3.2.
class fiber_scheduler {
 public:
  /// Starts the workers. **Blocking**: briefly, for the threads. **Errors**: `invalid_argument` for an option out of
  /// range; `std::system_error` if the system gives no thread; `std::bad_alloc`; `invalid_state` on a processor for
  /// which the switch of stacks is not written (it is for x86-64 and ARM64).
  explicit fiber_scheduler(const fiber_scheduler_options& options = {});
  template <class WriteMembersInOrderOf = fiber_scheduler_options>
  explicit fiber_scheduler(...) = delete;  // write members of fiber_scheduler_options in their order
  /// Stops the workers. If a fiber has not ended, or a `fiber` object was neither joined nor detached, the process ends
  /// with a message; if an exception is leaving the scope, after a second. **Blocking**: until the workers have
  /// stopped. **Threads**: one thread, which is no worker; no other may be using it.
  ~fiber_scheduler();
  fiber_scheduler(const fiber_scheduler&) = delete;
  fiber_scheduler& operator=(const fiber_scheduler&) = delete;

  /// Starts a fiber that calls `function`, which is moved to its stack. **Errors**: `out_of_memory` if the system gives
  /// no stack, or if the worker (for any worker: each) has `.fibers_per_worker` fibers; `invalid_argument` for a worker
  /// that does not exist; `std::bad_alloc`, and exceptions of the copy of `function`.
  template <detail::fiber_callable Function>
  fiber spawn(Function&& function, const fiber_options& options = {}) {
    using stored = std::decay_t<Function>;
    static_assert(sizeof(stored) <= function_bytes_max, "capture less: by reference, or by a pointer");
    static_assert(std::is_nothrow_move_constructible_v<stored>, "a fiber's function is moved to its stack");
    stored kept(std::forward<Function>(function));
    const begun begin = prepare(options, sizeof(stored), alignof(stored));
    ::new (begin.function) stored(std::move(kept));
    return start(begin, [](void* callable) {
      stored& called = *static_cast<stored*>(callable);
      struct at_end {
        stored& callable;
        ~at_end() { callable.~stored(); }
      } const end{called};
      called();
    });
  }
  template <class WriteFunctionWithoutArgumentsAndMembersInOrderOf = fiber_options>
  fiber spawn(...) = delete;  // arguments that do not fit

  /// How many fibers have not ended. While others begin and end, it may be more than there are at any moment; but 0
  /// means that at some moment during this call none was left, with all that the ended ones did.
  [[nodiscard]] std::uint64_t alive() const noexcept;
  /// How many workers there are.
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

/// Functions of the calling fiber.
namespace this_fiber {

/// Whether the caller is a fiber of a `fiber_scheduler`. **Blocking**: never. **Threads**: any. **Errors**: none.
[[nodiscard]] bool is_one() noexcept;
/// A reference to the calling fiber, for others to signal it; an empty one if the caller is no fiber. **Blocking**:
/// never. **Threads**: any. **Errors**: none.
[[nodiscard]] fiber_ref self() noexcept;

/// Lets other ready fibers of the worker run (ThreadYield). A thread that is no fiber calls the system's yield, and so
/// does a fiber inside a handler, hook or node: no other fiber runs there.
/// **Blocking**: while those run. **Threads**: any. **Errors**: none.
void yield() noexcept;
/// Suspends the calling fiber until it is signalled, or returns at once if it was signalled while it ran (ThreadWait).
/// It may return without a signal; and a signal that comes while the fiber is about to begin, or yields, may be lost.
/// So set a condition before you signal, and call this in a loop that tests the condition first.
/// **Blocking**: until then. **Threads**: fibers. **Errors**: `invalid_state` in a thread that is no fiber, and inside
/// a handler, hook or node.
void wait();
/// Waits as `wait`, within `limits`. **Blocking**: until the fiber is signalled, or a limit is reached. **Returns**:
/// false if a limit was reached, as far as the call knows: test the condition in both cases. **Threads**: fibers.
/// **Errors**: as for `wait`; `std::bad_alloc`; `std::system_error` if the system gives no thread for time limits.
[[nodiscard]] bool wait(const wait_limits& limits);
template <class WriteMembersInOrderOf = wait_limits>
bool wait(...) = delete;  // limits that do not fit
/// Suspends the calling fiber for `time`; a calling thread sleeps. It ends no earlier, whatever signals come; a signal
/// that comes meanwhile may be lost.
/// **Blocking**: for that time. **Threads**: any. **Errors**: `invalid_state` inside a handler, hook or node;
/// `std::bad_alloc`; `std::system_error` if the system gives no thread for time limits.
void sleep_for(std::chrono::nanoseconds time);
/// Sleeps as the other `sleep_for`, but a request of `stop` ends it. **Blocking**: until then. **Returns**: whether the
/// time is over; false after a request to stop. **Threads** and **Errors**: as for the other.
[[nodiscard]] bool sleep_for(std::chrono::nanoseconds time, const std::stop_token& stop);
template <class WriteTimeWithUnitAs = std::chrono::nanoseconds>
bool sleep_for(...) = delete;  // arguments that do not fit
/// Moves the calling fiber to worker `worker`: thread-local variables are those of that worker afterwards. But within
/// the function that calls this, the compiler may use the address of a thread-local variable that it computed before,
/// and `errno` is one: use them in functions that aren't inlined into it, and let that function end soon. References
/// to the fiber stay valid; a signal goes by way of its first worker, so it waits while that worker runs a long fiber.
/// **Blocking**: until that worker runs the fiber. **Threads**: fibers. **Errors**: `invalid_argument` for a worker
/// that does not exist; `out_of_memory` if it has as many fibers as it can; `invalid_state` in a thread that is no
/// fiber, and inside a handler, hook or node.
void move_to(std::uint32_t worker);

}  // namespace this_fiber

}  // namespace weft
