// SPDX-License-Identifier: BSD-3-Clause
// When a waiting thread yields its core, where several threads share a core and their partners share another one.
//
// A thread that keeps looking keeps the other threads from the core; a thread that yields immediately pays two changes
// of threads for each message, which take longer than the message. So a thread stays while its partner answers, for
// which both must run at one moment. They find each other because one side seeks and the other one waits: on an even
// core each thread looks for as long as an answer takes, and lets the next one look; on an odd one it keeps looking
// until the even core has been through all its threads. Where both sought, or both waited for a time drawn by lot,
// pairs of many threads met by chance and seldom. After a number of answers a thread yields nevertheless, so that
// the others get as much; both partners count these answers and go together.
//
// By 2, 4, 8, 16 threads of each process on 2 cores: an answer takes 0.26, 0.55, 1.2, 2.8 us where the cores are near,
// not much more than their share of the 0.13 us that two threads alone take; by lot they took 0.3, 0.8 to 1.3, 3.5 to 6
// and 8 to 13. The numbers below were chosen by such runs. The peers that are written with MPI spin and yield alike.
#pragma once

#include <cstdint>

namespace weft::perf {

/// How often in a row a thread looks and finds nothing before it yields.
struct yield_rules {
  std::uint32_t looks = 4096;       ///< before an answer has come
  std::uint32_t looks_after = 256;  ///< after one: a window of 32 from far away takes 3 us
  std::uint32_t answers = 0;        ///< in a row, after which it yields nevertheless; 0: it never does
};

/// For more threads than cores, on a core where each seeks its partner, 1.8 us long, ..
constexpr yield_rules seeking{.looks = 128, .answers = 256};
/// .. and on one where each waits for its partner: for as long as 16 threads seek.
constexpr yield_rules awaiting{.looks = 50 * seeking.looks, .answers = 256};

/// From a thread's start, or its last yield, to its next yield.
class spin_phase {
 public:
  explicit spin_phase(const yield_rules& rules) : rules_{rules} { begin(); }

  /// The message for which the thread waited has arrived.
  void met() {
    // A core of its own: a word that is written for each message costs as much as a third of it.
    if (rules_.answers == 0) [[likely]]
      return;
    if (++met_ > left_behind) patience_ = met_ < rules_.answers ? rules_.looks_after : 0;
  }

  /// Whether to yield after `vain` looks that found nothing, since the thread began to wait or last yielded.
  [[nodiscard]] bool is_over(std::uint32_t vain) {
    if (vain < patience_) [[likely]]
      return false;
    begin();
    return true;
  }

 private:
  // A partner that isn't there any more leaves behind an answer or two.
  static constexpr std::uint32_t left_behind = 2;

  void begin() {
    patience_ = rules_.looks;
    met_ = 0;
  }

  const yield_rules rules_;
  std::uint32_t patience_ = 0;  // looks that find nothing before the phase is over
  std::uint32_t met_ = 0;       // answers in this phase
};

}  // namespace weft::perf
