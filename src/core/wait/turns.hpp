// Whether a thread that waits lets others of its core run, before it sleeps.
//
// Where ranks share cores, whom a thread waits for may be next in line for the very core that it spins on. To let that
// one run takes a microsecond or two; to sleep and be woken takes 20 to 300 (docs/decisions/waiting.md). Where nobody
// is in line, giving way takes 0.3 us and the thread goes on looking. Where somebody computes, it takes a whole slice
// of the scheduler's, some milliseconds: then nobody of this process gives way for 64 times as long.
//
// Cost: nothing to threads whose messages come within `first_look_count` looks; two looks at the clock and a system
// call for each turn that is given away. Nothing where no rank shares this one's cores: nobody gives way there.
// Progress: wait-free. There is no order to keep: all that is shared is a guess.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weft::core {

class turns {
 public:
  /// Looks in vain before a turn is given away at first, again when others have run, and again when nobody has.
  static constexpr std::uint32_t first_look_count = 32;
  static constexpr std::uint32_t next_look_count = 16;
  static constexpr std::uint32_t lone_look_count = 128;
  /// In one wait, so that many threads that wait for nothing go to sleep.
  static constexpr std::uint32_t turns_max = 1000;
  static constexpr std::chrono::nanoseconds lone_max{400};  // nobody has run in a shorter time
  static constexpr std::chrono::milliseconds turn_max{4};   // somebody computes
  static constexpr int pauses_per_turn = 64;

  /// What one wait has given so far.
  struct given {
    std::uint32_t count = 0;
    std::uint32_t due = first_look_count;  // give way after so many looks
  };

  /// **Threads**: one, before anybody waits.
  void use(bool wanted) noexcept { wanted_ = wanted; }

  [[nodiscard]] bool is_due(std::uint32_t looks, const given& mine) const noexcept {
    return looks >= mine.due && wanted_;
  }
  /// Lets others run, if that has paid lately. **Returns** the looks that count from now on: none where others have
  /// run.
  [[nodiscard]] std::uint32_t give_way(std::uint32_t looks, given& mine) noexcept;

 private:
  using clock = std::chrono::steady_clock;

  bool wanted_ = false;
  std::atomic<clock::rep> kept_until_{0};  // nobody gives way before
};

}  // namespace weft::core
