// SPDX-License-Identifier: BSD-3-Clause
// A thread that runs fibers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <thread>

#include "base/not_inherited.hpp"
#include "base/this_wait.hpp"
#include "fiber/activity.hpp"
#include "fiber/debugger.hpp"
#include "fiber/door.hpp"
#include "fiber/fiber_state.hpp"
#include "fiber/migration.hpp"
#include "fiber/ready_queue.hpp"
#include "fiber/slot_pool.hpp"
#include "fiber/switching.hpp"
#include "fiber/work_stealing.hpp"
#include "fiber/worker_sleep.hpp"
#include "weft/detail/copy_mark.hpp"
#include "weft/fiber.hpp"

namespace weft::fibers {

/// How many fibers of these workers are alive. Fibers that begin or end meanwhile are counted or not, but where it is
/// 0, there was a moment at which none was alive: all ends are read before all beginnings, and a fiber begins before it
/// ends, so at no moment between were fewer alive than this sum says. **Threads**: any.
[[nodiscard]] std::uint64_t count_alive(std::span<const std::unique_ptr<worker>> workers) noexcept;

class alignas(detail::cache_line_bytes) worker final : private suspender, private base::not_inherited {
 public:
  worker(const fiber_scheduler_options& options, device* progress);

  void begin();
  void end() noexcept;

  /// Whether this is the copy in a child of fork(), whose parent runs the fibers.
  [[nodiscard]] bool is_copy() const noexcept { return copy_.is_copy(); }
  /// The worker whose thread this is, or null.
  [[nodiscard]] static worker* here() noexcept;
  /// The number by which references to its fibers find it.
  [[nodiscard]] const door_owner& door() const noexcept { return door_; }
  /// The running fiber: null in its own context, between fibers, and in handlers that it runs then.
  [[nodiscard]] fiber_state* running() const noexcept { return switching_.running(); }

  /// All workers, this one at `index`. **Threads**: before any begins.
  void meet(std::span<const std::unique_ptr<worker>> all, std::uint32_t index, std::uint32_t scheduler,
            bool steals) noexcept;

  [[nodiscard]] switching& switches() noexcept { return switching_; }
  [[nodiscard]] slot_pool& slots() noexcept { return slots_; }
  [[nodiscard]] worker_sleep& sleep() noexcept { return sleep_; }
  [[nodiscard]] work_stealing& stealing() noexcept { return stealing_; }
  [[nodiscard]] migration& moves() noexcept { return moves_; }
  [[nodiscard]] const activity& done() const noexcept { return done_; }

  /// A fiber that was made here begins: here, or at the first worker that has nothing to do where those steal and
  /// `may_go`. **Threads**: any.
  void start(fiber_state& made, bool may_go) noexcept;
  /// Called by a fiber of this worker: it continues at another. **Errors**: invalid_argument; out_of_memory where that
  /// has no slot left.
  void move_running_to(std::uint32_t index);
  /// Makes the fiber in `slot` ready. The worker has to exist until this returns: a thread that isn't one of its
  /// scheduler has entered its door, or the fiber waits for the thread to return. **Threads**: any.
  void make_ready(std::uint32_t slot) noexcept;
  /// Called by a fiber of this worker.
  void suspend_running_for(const base::wait_note& note) noexcept;
  /// `suspend_running_for` of a fiber that is ready at once. It has no words (base/of_fiber.hpp), or has taken them
  /// along.
  void yield_running() noexcept;

 private:
  friend struct debugger_layout;

  void become_copy() noexcept override;
  void* current() noexcept override;
  void suspend() noexcept override;
  void resume(void* which) noexcept override;

  template <switching::leaving How>
  void suspend_me(fiber_state& me) noexcept;
  template <switching::leaving How>
  void suspend_at_end_of_word() noexcept;
  void run() noexcept;
  [[nodiscard]] bool has_guests() const noexcept { return moves_.has_arrivals() || stealing_.is_one_offered(); }
  void finish(fiber_state& ended) noexcept;

  // Fields of the thread itself.
  ready_queue ready_;
  switching switching_;
  activity done_;
  // Fields of all threads.
  worker_sleep sleep_;
  slot_pool slots_;
  work_stealing stealing_{slots_};
  migration moves_{slots_, sleep_};

  door_owner door_{*this};
  std::thread thread_;
  detail::copy_mark copy_;
  debugger_entry listed_{*this};
  base::fork_entry at_forks_{*this};
};

}  // namespace weft::fibers
