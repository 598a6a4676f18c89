// SPDX-License-Identifier: BSD-3-Clause
// Finds out that nothing moves in this process, and reports the events for which it waits (`WEFT_STUCK_AFTER`).
//
// A thread of its own looks some times in that period. It reads counters that exist anyway, so messages cost no more,
// and it finds programs whose threads poll, or sleep outside of Weft, too. A report is written if nothing has moved for
// that long and something waits: a thread (long_wait.hpp), fibers or coroutines (`witness`), or a program that polls by
// itself while something is left to do; also if messages have waited that long for a poll, whatever moves elsewhere.
// The time in which the process was stopped does not count. It is written once, until something moves; the next
// standstill is reported after twice the time. weft-run can ask for a report at any time, by a word in memory that it
// shares with its ranks.
//
// Children of fork() have no such thread.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "base/report.hpp"

namespace weft::base {

/// Something whose moves are counted, and in which something may wait: a runtime, a scheduler of fibers, a run loop.
/// The functions are called by the thread of the watch, one at a time. They may wait for no other thread, and add or
/// remove no witness.
class witness {
 public:
  struct sight {
    std::uint64_t moves = 0;  // changes when something moves
    std::uint64_t polls = 0;  // changes when a thread looks for messages
    bool waits = false;       // something waits here that is no thread
  };
  [[nodiscard]] virtual sight look() noexcept = 0;
  /// Whether messages wait here for a poll, and no thread has polled for `patience`; called after each `look`, at
  /// `now`.
  [[nodiscard]] virtual bool is_neglected(clock::time_point /*now*/, clock::duration /*patience*/) noexcept {
    return false;
  }
  /// Something has moved since the last look, here or elsewhere.
  virtual void note_move() noexcept {}
  /// Adds the faults and the waits that it knows. **Errors**: std::bad_alloc.
  virtual void describe(report& into) = 0;
  /// Adds its counters, before weft-run ends this process. **Errors**: std::bad_alloc.
  virtual void add_counters(report& /*into*/) {}

 protected:
  ~witness() = default;
};

/// The last member of the class of `witness`: while it lives, `witness` is asked.
class witness_entry {
 public:
  explicit witness_entry(witness& witness);
  ~witness_entry();
  witness_entry(const witness_entry&) = delete;
  witness_entry& operator=(const witness_entry&) = delete;

 private:
  friend class standstill;

  witness& witness_;
  bool is_listed_ = false;
  witness::sight last_{};
  witness_entry* before_ = nullptr;
  witness_entry* behind_ = nullptr;
};

}  // namespace weft::base
