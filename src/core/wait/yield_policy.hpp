// Whether a waiting thread yields its core to other threads before it sleeps.
//
// If ranks share cores, the partner that a thread waits for may be ready to run on the very core that the thread spins
// on. Yielding to it takes a microsecond or two; sleeping and being woken takes 20 to 300 (docs/decisions/waiting.md).
// If no thread is ready, a yield takes 0.3 us. If the other thread computes, a yield takes a whole time slice, some
// milliseconds: then no thread of this process yields for 64 times as long.
//
// Cost: nothing to threads whose messages come within `first_look_count` looks; two looks at the clock and a system
// call for each yield. Nothing if no rank shares this one's cores: its threads never yield.
// Progress: wait-free. No memory order is needed: threads share only a hint.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.hpp"

namespace weft::core {

class yield_policy {
 public:
  /// Looks that find nothing before the first yield, before the next one if other threads have run, and if none has.
  static constexpr std::uint32_t first_look_count = 32;
  static constexpr std::uint32_t next_look_count = 16;
  static constexpr std::uint32_t lone_look_count = 128;
  /// Yields in one wait, at most: so many threads that wait and get nothing go to sleep.
  static constexpr std::uint32_t yields_max = 1000;
  static constexpr std::chrono::nanoseconds lone_max{400};       // no other thread has run in a shorter time
  static constexpr std::chrono::milliseconds yield_time_max{4};  // the other thread computes
  static constexpr int pauses_per_yield = 64;

  /// How often one wait has yielded so far.
  struct wait_state {
    std::uint32_t count = 0;
    std::uint32_t due = first_look_count;  // yield after so many looks
  };

  /// **Threads**: one, before any thread waits.
  void use(bool wanted) noexcept { wanted_ = wanted; }
  [[nodiscard]] bool is_used() const noexcept { return wanted_; }

  [[nodiscard]] bool is_due(std::uint32_t looks, const wait_state& mine) const noexcept {
    return looks >= mine.due && wanted_;
  }
  /// Lets other threads run, if that was worth it lately. **Returns** the new count of looks: 0 if other threads have
  /// run.
  [[nodiscard]] std::uint32_t yield_core(std::uint32_t looks, wait_state& mine) noexcept;

 private:
  using clock = base::clock;

  bool wanted_ = false;
  std::atomic<clock::rep> kept_until_{0};  // no thread yields before
};

}  // namespace weft::core
