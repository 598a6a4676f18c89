// SPDX-License-Identifier: BSD-3-Clause
// Which ranks run, and which have ended with exit code 0 while others still run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft-run/deadlines.hpp"

namespace weft::run {

/// A rank may end with 0 in the middle of a job: ranks that wait for its messages then wait for ever. Other ranks have
/// work left and are fine. Only the user can tell.
class live_ranks {
 public:
  /// `notice_s`: from a rank's end to a line about ranks that still run; `linger_s`: to the end of the job; 0: never.
  live_ranks(std::uint32_t ranks, double notice_s, double linger_s);

  /// The rank has ended, with whatever exit code.
  void note_end(std::uint32_t rank);
  /// Its exit code was 0.
  void note_success(std::uint32_t rank);

  /// In the order of the ranks.
  [[nodiscard]] const std::vector<std::uint32_t>& running() const noexcept { return running_; }
  [[nodiscard]] const std::vector<std::uint32_t>& succeeded() const noexcept { return succeeded_; }

  [[nodiscard]] deadline next() const { return earliest({notice_at_, linger_at_}); }
  /// The text about ranks that still run, once, when it is time.
  [[nodiscard]] std::optional<std::string> take_notice(clock::time_point now);
  /// The text about ranks because of which the job is to end, when it is time.
  [[nodiscard]] std::optional<std::string> take_linger(clock::time_point now);

 private:
  [[nodiscard]] std::string describe(double seconds) const;

  std::vector<std::uint32_t> running_;
  std::vector<std::uint32_t> succeeded_;
  double notice_s_;
  double linger_s_;
  deadline notice_at_;
  deadline linger_at_;
};

}  // namespace weft::run
