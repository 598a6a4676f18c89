// SPDX-License-Identifier: BSD-3-Clause
// Fibers that any worker may begin: the worker that they were spawned at offers them, and workers that have nothing to
// run take them. A fiber that has begun stays with its worker.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "fiber/inbox.hpp"
#include "fiber/slot_pool.hpp"

namespace weft::fibers {

/// What one worker offers and takes. **Threads**: the worker, unless a function says otherwise.
class work_stealing {
 public:
  /// `mine`: the slots of the worker.
  explicit work_stealing(slot_pool& mine) noexcept : mine_{mine} {}

  /// All workers, this one at `index`. **Threads**: before any begins.
  void meet(std::span<const std::unique_ptr<worker>> all, std::uint32_t index, bool steals) noexcept {
    all_ = all;
    index_ = index;
    steals_ = steals;
  }
  [[nodiscard]] std::span<const std::unique_ptr<worker>> workers() const noexcept { return all_; }
  [[nodiscard]] bool is_on() const noexcept { return steals_; }

  /// Puts, if workers steal, a fiber to begin here, or at the first worker that has nothing to do. **Threads**: any.
  void offer(fiber_state& made) noexcept;
  /// Whether this worker may begin a fiber that is offered.
  [[nodiscard]] bool is_one_offered() const noexcept;
  /// Begins fibers that are offered here; one of another worker's if there is none and the worker `has_others` not.
  /// **Returns**: whether it has begun one.
  bool begin_offered(bool has_others) noexcept;
  /// Called by a worker that has begun a fiber, or that runs others first: a sleeping worker may begin a fiber that is
  /// still offered. False: nothing is, or none sleeps.
  bool call_another_for_rest() noexcept;

 private:
  bool call_another() noexcept;
  [[nodiscard]] bool begin_one_of(work_stealing& other) noexcept;

  slot_pool& mine_;
  std::span<const std::unique_ptr<worker>> all_;
  std::uint32_t index_ = 0;
  bool steals_ = false;
  inbox offered_;
};

}  // namespace weft::fibers
