// SPDX-License-Identifier: BSD-3-Clause
// Whether a waiting thread yields its core to other threads before it sleeps.
//
// If ranks share cores, the partner that a thread waits for may be ready to run on the very core that the thread spins
// on. Yielding to it takes a microsecond or two; sleeping and being woken takes 20 to 300 (docs/decisions/waiting.md).
// So a thread yields after its first look where the last yield of its process let another thread run, and after
// `first_look_count` looks elsewhere: its partner may be about to answer from another core. If no thread is ready, a
// yield takes 0.2 to 0.5 us.
//
// If the other thread computes, a yield takes a whole time slice, some milliseconds. Then no thread of this process
// yields for a while: as long as that yield took, twice as long after the next such yield, and up to 64 times as long
// if they go on. A single one, as when a process starts, costs little so.
//
// Where threads of one rank share a core, two partners that run at the same moment answer each other within the first
// looks and never sleep. Others of their core, whose messages have arrived, wait for the end of a slice of time, and
// then for a moment at which their own partner runs. So a thread that has waited `waits_before_yield` times yields
// once, if threads of its process sleep or have been woken and do not run yet.
//
// A wait by tests of the program (MPI_Test) follows the same counts. Where another wait would sleep, it yields on, as
// only the program knows whether it waits at all.
//
// Cost: a read to each wait, and a count of the thread's own to one whose first look finds nothing; two looks at the
// clock and a system call for each yield. Nothing more to threads whose messages come within the first looks, nor if no
// rank shares this one's cores: its threads yield once in so many waits. Progress: wait-free. No memory order is
// needed: threads share only hints.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "weft/detail/test_loop.hpp"

namespace weft::core {

class yield_policy {
 public:
  /// Looks that find nothing before the first yield; the same in a process whose last yield let another thread run;
  /// before the next yield of a wait if another thread has run, and if none has.
  static constexpr std::uint32_t first_look_count = 32;
  static constexpr std::uint32_t crowded_look_count = 1;
  static constexpr std::uint32_t next_look_count = 4;
  static constexpr std::uint32_t lone_look_count = 8;
  /// Tests that find nothing before the thread yields where other waits sleep, and then again and again: after
  /// `next_look_count` if another thread has run, and if none has.
  static constexpr std::uint32_t tests_before_sleep = 256;
  static constexpr std::uint32_t lone_test_count = 64;
  /// Yields in one wait, at most: so many threads that wait and get nothing go to sleep.
  static constexpr std::uint32_t yields_max = 1000;
  /// Waits of a thread, whose first looks find nothing, until it yields once.
  static constexpr std::uint32_t waits_before_yield = 1024;
  static constexpr std::chrono::nanoseconds lone_max{700};       // no other thread has run in a shorter time
  static constexpr std::chrono::milliseconds yield_time_max{4};  // the other thread computes
  static constexpr std::uint32_t pauses_max = 64;                // times as long as the yield

  /// How often one wait has yielded so far.
  struct wait_state {
    std::uint32_t count = 0;
    std::uint32_t due = first_look_count;  // yield after so many looks
  };
  /// A wait whose looks find nothing, of a loop that never sleeps at a word.
  struct rest_state {
    wait_state yields;
    base::backoff waiting;
    std::uint32_t looks = 0;
  };

  /// **Threads**: one, before any thread waits.
  void use(bool wanted) noexcept { wanted_ = wanted; }
  [[nodiscard]] bool is_used() const noexcept { return wanted_; }

  [[nodiscard]] wait_state begin() const noexcept {
    return {.count = 0,
            .due = is_crowded_.load(std::memory_order_relaxed) ? crowded_look_count : first_look_count};  // [hint]
  }
  /// A server makes progress for others: it yields also where no rank shares the processors, as threads of its own rank
  /// may.
  [[nodiscard]] bool is_due(std::uint32_t looks, const wait_state& mine, bool is_server = false) const noexcept {
    return looks >= mine.due && (wanted_ || is_server);
  }
  /// Lets other threads run, if that was worth it lately. **Returns** the new count of looks: 0 if other threads have
  /// run.
  [[nodiscard]] std::uint32_t yield_core(std::uint32_t looks, wait_state& mine) noexcept;
  /// Counts a wait of the calling thread. **Returns** whether it is to yield now.
  [[nodiscard]] static bool count_wait() noexcept {
    [[gnu::tls_model("initial-exec")]] static thread_local constinit std::uint32_t waits = 0;  // variable of the thread
    return ++waits % waits_before_yield == 0;
  }
  /// Whether a long yield is so near that no thread yields at `now`.
  [[nodiscard]] bool keeps_core(base::clock::time_point now) const noexcept {
    return now.time_since_epoch().count() < kept_until_.load(std::memory_order_relaxed);  // [hint]
  }
  /// A yield that ended at `end` took longer than `yield_time_max`.
  void note_long_yield(base::clock::duration yield, base::clock::time_point end) noexcept;
  /// One step of a wait that polls: yields where that is due, and else does what a `backoff` does.
  void rest(rest_state& mine) noexcept;
  /// One step of a wait by tests.
  void rest_between_tests(detail::test_loop& mine) noexcept;

 private:
  using clock = base::clock;

  struct yield_result {
    clock::duration time;
    clock::time_point end;
    bool is_lone;  // no other thread has run
  };
  yield_result yield_once(clock::time_point begin) noexcept;

  bool wanted_ = false;
  std::atomic<bool> is_crowded_{false};    // the last yield let another thread run
  std::atomic<std::uint32_t> pauses_{1};   // pauses of the next long yield
  std::atomic<clock::rep> kept_until_{0};  // no thread yields before
};

}  // namespace weft::core
