// SPDX-License-Identifier: BSD-3-Clause
// What a worker has done, as counts that any thread reads.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace weft::fibers {

/// **Threads**: the worker counts, any read. No count becomes less.
class activity {
 public:
  /// A fiber was suspended, yielded, moved or ended. A poll is no move.
  void count_move() noexcept { count(moves_); }
  /// A fiber waits: it is suspended, or it will look again and again.
  void count_wait(bool is_poll) noexcept { count(is_poll ? polls_ : moves_); }
  /// A fiber has ended here.
  void count_end() noexcept {
    // [fiber.ended] release -> [fiber.alive]: the fiber's stores. [own] one thread counts.
    ended_.store(ended_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void use_thread(pid_t thread) noexcept {
    thread_.store(thread, std::memory_order_relaxed);  // [hint] for the watch
  }

  [[nodiscard]] std::uint64_t moves() const noexcept { return moves_.load(std::memory_order_relaxed); }  // [hint]
  [[nodiscard]] std::uint64_t polls() const noexcept { return polls_.load(std::memory_order_relaxed); }  // [hint]
  [[nodiscard]] std::uint64_t ended() const noexcept {
    // [fiber.alive] acquire <- [fiber.ended]: the stores of the ended fibers, also that they made others.
    return ended_.load(std::memory_order_acquire);
  }
  /// 0 before the worker's thread runs.
  [[nodiscard]] pid_t thread() const noexcept { return thread_.load(std::memory_order_relaxed); }  // [hint]

 private:
  static void count(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // [own] one thread counts
  }

  std::atomic<std::uint64_t> moves_{0};
  std::atomic<std::uint64_t> polls_{0};
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<pid_t> thread_{0};
};

}  // namespace weft::fibers
