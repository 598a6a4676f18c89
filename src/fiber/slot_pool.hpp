// SPDX-License-Identifier: BSD-3-Clause
// The slots of a worker, and the stacks that fibers of it have.
//
// A slot is free with a stack, bare without one, or in use: by a fiber that has its stack here, or by a guest, which
// has its stack at another worker.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "fiber/fiber_state.hpp"
#include "fiber/ready_queue.hpp"
#include "fiber/stacks.hpp"
#include "fiber/worker_sleep.hpp"
#include "weft/fiber.hpp"

namespace weft::fibers {

/// **Threads**: any, unless a function says otherwise. **Blocking**: briefly, for a lock.
class slot_pool {
 public:
  /// `sleep` is the worker's: a worker whose slots were all in use sleeps until one is left.
  slot_pool(const fiber_scheduler_options& options, worker& owner, ready_queue& ready, worker_sleep& sleep)
      : owner_{owner}, ready_{ready}, sleep_{sleep}, stacks_{options.stack_bytes, options.guarded_stacks} {}
  ~slot_pool();
  slot_pool(const slot_pool&) = delete;
  slot_pool& operator=(const slot_pool&) = delete;

  /// A fiber that doesn't run yet, with room for its function. **Errors**: out_of_memory.
  [[nodiscard]] fiber_state* make(std::size_t function_bytes, std::size_t alignment);
  /// A fiber with its stack here has ended, and no handle refers to it any more.
  void release(fiber_state& ended) noexcept;

  /// A slot for a guest, or `ready_bits::none`: at best one that has no stack, at last one whose stack is free.
  [[nodiscard]] std::uint32_t reserve_guest() noexcept;
  /// The guest that had the slot has left. Null: none came. **Threads**: the worker's.
  void leave_guest(std::uint32_t slot, const fiber_state* guest) noexcept;
  /// A fiber of this worker, or a guest with a reserved slot, runs here from now on, and is ready. **Threads**: the
  /// worker's.
  void seat(fiber_state& here, std::uint32_t slot) noexcept;
  /// Whether a guest found no slot, and none was left since.
  [[nodiscard]] bool is_full() const noexcept {
    // [fiber.is_full] seq_cst <- [fiber.room], [fiber.full]: a thread that leaves a slot after this look sees that the
    // worker sleeps, and a worker that gets room later looks for itself.
    return is_full_.load(std::memory_order_seq_cst);
  }

  /// Notes where a fiber with its stack here is now, or, by 0, that it is nowhere. Under the lock, so that a thread
  /// that forwards a signal meanwhile reaches the fiber where it is.
  void settle(fiber_state& moved, std::uint64_t location) noexcept;
  /// Calls `function(location)`, while the fiber does not move.
  template <class Function>
  void visit_location(const fiber_state& fiber, Function function) noexcept {
    const std::scoped_lock lock{mutex_};
    function(fiber.location.load(std::memory_order_relaxed));  // [locked] it changes under the lock alone
  }
  /// Calls `function(note)` for the wait of each fiber that is alive and runs here.
  template <class Function>
  void each_wait(Function function) {
    const std::scoped_lock lock{mutex_};
    for (std::uint32_t slot = 0; slot < used_; ++slot) {
      const fiber_state* const each = ready_.slots().fiber_at(slot);
      // [hint] for people; the location of a guest is guarded by its home's lock.
      if (each != nullptr && each->location.load(std::memory_order_relaxed) == ready_.slots().location_of(slot)) {
        function(each->waits_for.said());
      }
    }
  }

  /// How many fibers with a stack here have been made. Never becomes less.
  [[nodiscard]] std::uint64_t begun() const noexcept {
    // [fiber.begun] relaxed: the fiber that has made another one before it ended was seen to end.
    return begun_.load(std::memory_order_relaxed);
  }
  /// Called after all have ended and the workers have stopped: waits for threads that are about to return from a join.
  /// Where a `fiber` still refers to a stack here, it ends the process.
  void expect_no_handles() noexcept;

 private:
  friend struct debugger_layout;
  static constexpr std::uint32_t warm_max = 256;  // free stacks that keep their pages

  // All under the lock.
  [[nodiscard]] fiber_state& make_slot();
  [[nodiscard]] fiber_state* owner_of(std::uint32_t slot) const noexcept;
  void note_room() noexcept;

  worker& owner_;
  ready_queue& ready_;
  worker_sleep& sleep_;
  std::atomic<bool> is_full_{false};
  std::atomic<std::uint64_t> begun_{0};
  std::mutex mutex_;  // the members below, and what says so
  stacks stacks_;
  std::vector<std::uint32_t> free_;  // the warm ones last
  std::vector<std::uint32_t> bare_;  // fibers of other workers have left them
  std::uint32_t used_ = 0;           // slots below were in use once
  std::uint32_t held_ = 0;           // stacks of fibers that are alive, or that a `fiber` refers to
};

}  // namespace weft::fibers
