// SPDX-License-Identifier: BSD-3-Clause
// A thread that checks whether fibers still move. If they don't, it reports their waits once.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "fiber/worker.hpp"

namespace weft::fibers {

/// The waits of fibers in words; equal waits are counted.
struct told_waits {
  std::uint64_t count = 0;  // number of fibers
  bool has_peers = false;   // some wait for messages
  std::string text;
};
/// **Errors**: std::bad_alloc. **Threads**: any.
[[nodiscard]] told_waits gather_waits(std::span<const std::unique_ptr<worker>> workers);

/// Whether a thread of this process sleeps in the system now.
[[nodiscard]] bool is_asleep(pid_t thread) noexcept;

/// The sleep of a worker's thread inside a fiber.
inline constexpr const char* words_of_hold =
    "its thread sleeps: that fiber waits in the system, as for a std::mutex that a suspended fiber holds, and stops "
    "all others; use fiber_mutex and blocking_device";

/// A view of a worker from outside.
struct look {
  std::uint64_t moves = 0;  // suspensions and yields, and fibers that ended; polls are none
  std::uint64_t polls = 0;
  bool is_asleep = false;
  pid_t thread = 0;
};
/// **Threads**: any.
[[nodiscard]] look look_at(worker& seen) noexcept;

class watch {
 public:
  using clock = base::clock;

  /// The workers outlive it.
  watch(std::span<const std::unique_ptr<worker>> workers, std::chrono::milliseconds patience);
  ~watch();
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;

 private:
  // Since when a worker does what it does.
  struct sight {
    fibers::look last;
    clock::time_point waits_since;  // it sleeps, or its fibers look for something again and again
    clock::time_point held_since;   // one fiber runs, and the thread sleeps
  };

  void run();
  void look(clock::time_point now);
  void report_wait() const;

  std::span<const std::unique_ptr<worker>> workers_;
  std::chrono::milliseconds patience_;
  std::vector<sight> sights_;
  bool has_told_of_wait_ = false;
  bool has_told_of_hold_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace weft::fibers
