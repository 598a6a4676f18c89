// SPDX-License-Identifier: BSD-3-Clause
// The barrier after which a group's members use the numbers of an epoch again (number_window.hpp), and the starts that
// wait for it.
//
// One graph, which is started for one epoch after the other: a dissemination barrier, log n rounds of a message to one
// member and of one from another. It goes through the default device, if that is shared: the group's own may end
// before. Cost: once in 1023 collectives, in the background. Nothing is allocated but by its first start.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "weft/completion.hpp"
#include "weft/device.hpp"
#include "weft/graph.hpp"

namespace weft::coll {

class deferred_start;
class group_numbers;
class group_state;

/// The end of the graph signals this object, and threads that wait for free numbers wait for it. **Threads**: any.
class epoch_barrier final : public completion {
 public:
  /// **Errors**: std::bad_alloc.
  epoch_barrier(group_state& group, group_numbers& numbers);
  ~epoch_barrier() override;

  /// Enters the barrier of the next epoch.
  void enter() noexcept;
  answer signal(completion_record&& record) noexcept override;
  [[nodiscard]] bool is_running() const noexcept {
    // [barrier.idle] acquire <- [barrier.end]: all that its end has done.
    return running_.load(std::memory_order_acquire) != 0;
  }

  /// Starts `start` once its numbers are open; at once if they are.
  void start_when_open(deferred_start& start) noexcept;
  /// Whether `start` has waited, and now doesn't.
  [[nodiscard]] bool try_remove(deferred_start& start) noexcept;
  /// Ends the starts that wait with the failure of the numbers, and wakes threads that wait.
  void refuse_all() noexcept;

 private:
  void build();
  [[nodiscard]] weft::device& device() const noexcept;
  [[nodiscard]] deferred_start* take_open() noexcept;

  group_state& group_;
  group_numbers& numbers_;
  std::uint64_t next_epoch_ = 0;
  std::uint64_t tag_ = 0;
  std::atomic<std::uint32_t> running_{0};  // starts of the graph whose signal has not returned
  std::mutex deferred_mutex_;
  std::atomic<std::uint32_t> deferred_count_{0};  // the length of the list; its writers hold the mutex
  deferred_start* first_deferred_ = nullptr;
  deferred_start** last_deferred_ = &first_deferred_;
  graph graph_;
};

}  // namespace weft::coll
