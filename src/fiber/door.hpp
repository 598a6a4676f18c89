// SPDX-License-Identifier: BSD-3-Clause
// The way from a `fiber_ref` to its worker: a reference may outlive the scheduler, and a thread may be interrupted in
// the middle of a signal, so a thread of another scheduler enters the door first, and the worker is not destroyed
// before it has left.
//
// Doors are never freed: a worker that is made takes one that another worker has left. The number of the scheduler says
// for which worker a reference is.
//
// Cost of a signal by a thread of no worker, or of another scheduler's: two fetch-and-adds. Threads of the scheduler
// itself go without, as it waits for them before it ends.
#pragma once

#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::fibers {

class worker;

/// **Threads**: the owner opens and closes, any enter and leave. Progress: wait-free; the owner waits until `is_empty`.
/// Linearization: the fetch-and-adds. Reuse: a number is used again after 2^32 - 1 schedulers; at most 2^32 - 1 threads
/// are inside. Model test: tests/model/fiber_door_test.cpp.
template <class Atomics = detail::std_atomics>
class basic_door {
 public:
  /// `scheduler` is not zero.
  void open(std::uint32_t scheduler) noexcept {
    // [door.open] release -> [door.enter]: the worker behind.
    word_.fetch_add(std::uint64_t{scheduler} << 32, std::memory_order_release);
  }
  void close(std::uint32_t scheduler) noexcept {
    // [door.close] relaxed: a thread that enters later finds another number, and leaves.
    word_.fetch_sub(std::uint64_t{scheduler} << 32, std::memory_order_relaxed);
  }
  /// Asked of a closed door: whether no thread that came before uses the worker any more.
  [[nodiscard]] bool is_empty() const noexcept {
    // [door.empty] acquire <- [door.leave]: what the thread did inside.
    return static_cast<std::uint32_t>(word_.load(std::memory_order_acquire)) == 0;
  }

  /// False: the worker of this scheduler is gone. Otherwise `leave` has to follow.
  [[nodiscard]] bool try_enter(std::uint32_t scheduler) noexcept {
    // [door.enter] acquire <- [door.open]: the worker behind.
    if (word_.fetch_add(1, std::memory_order_acquire) >> 32 == scheduler) return true;
    leave();
    return false;
  }
  void leave() noexcept {
    // [door.leave] release -> [door.empty]: what the thread did inside.
    word_.fetch_sub(1, std::memory_order_release);
  }

 private:
  typename Atomics::template atomic<std::uint64_t> word_{0};  // the scheduler's number, and how many are inside
};

/// A door, and who is behind it while it is open.
struct alignas(detail::cache_line_bytes) door : basic_door<> {
  worker* behind = nullptr;
  door* next = nullptr;  // next of the doors that no worker has
};

/// The door of one worker. **Threads**: one opens and closes it, any ask.
class door_owner {
 public:
  /// **Errors**: std::bad_alloc.
  explicit door_owner(worker& behind);
  door_owner(const door_owner&) = delete;
  door_owner& operator=(const door_owner&) = delete;
  /// Leaves the door to another worker if it is closed. (A child of fork() has no threads that would leave it.)
  ~door_owner();

  void open(std::uint32_t scheduler) noexcept;
  /// Waits for the threads inside. **Blocking**: while they make a fiber ready.
  void close() noexcept;

  [[nodiscard]] bool is(const door* other, std::uint32_t scheduler) const noexcept {
    return other == &door_ && scheduler == scheduler_;
  }
  [[nodiscard]] door& get() const noexcept { return door_; }
  /// Zero while the door is closed.
  [[nodiscard]] std::uint32_t scheduler() const noexcept { return scheduler_; }

 private:
  door& door_;
  std::uint32_t scheduler_ = 0;
};

/// A number for a scheduler, never zero. **Threads**: any.
[[nodiscard]] std::uint32_t next_scheduler_number() noexcept;

}  // namespace weft::fibers
