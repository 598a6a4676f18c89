// SPDX-License-Identifier: BSD-3-Clause
// Counts the calls of progress of a device that have moved nothing, in a row.
#pragma once

namespace weft::core {

/// **Threads**: the one inside the gate of the device that it belongs to.
class quiet_calls {
 public:
  /// Whether the next quiet call ends a long time of quiet.
  [[nodiscard]] bool is_next_long() const noexcept { return count_ + 1 >= calls_max; }

  /// A quiet call that does not end a long time of quiet.
  void count() noexcept { ++count_; }

  /// A quiet call. **Returns** whether it ends a long time of quiet: then the thread polls device 0 once. Messages for
  /// a device that does not live (yet, or any more) go there, and a program that polls only devices of its own would
  /// never get them.
  [[nodiscard]] bool add() noexcept {
    const bool is_long = ++count_ >= calls_max;
    if (is_long) count_ = 0;
    return is_long;
  }

  /// A long time of quiet, whose last call may look for ranks that have ended. **Returns** whether it does.
  [[nodiscard]] bool looks_for_ends() noexcept { return ++long_quiets_ % long_quiets_per_look == 0; }

  void reset() noexcept { count_ = 0; }

 private:
  static constexpr unsigned calls_max = 64;
  static constexpr unsigned long_quiets_per_look = 8;

  unsigned count_ = 0;  // since the last long time of quiet
  unsigned long_quiets_ = 0;
};

}  // namespace weft::core
