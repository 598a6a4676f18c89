// SPDX-License-Identifier: BSD-3-Clause
// What ranks wait for: a rank in which nothing moves writes it by itself, and then the others are asked; all are asked
// before the job is ended because of its time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/ask_word.hpp"
#include "weft-run/deadlines.hpp"
#include "weft-run/end_reasons.hpp"
#include "weft-run/live_ranks.hpp"
#include "weft-run/rank_output.hpp"
#include "weft-run/reports.hpp"

namespace weft::run {

class wait_reports {
 public:
  /// `may_answer`: whether a rank answers when it is asked.
  wait_reports(std::uint32_t ranks, const live_ranks& live, rank_output& output,
               std::function<bool(std::uint32_t rank)> may_answer);

  /// Makes the words by which ranks are asked. **Returns** the value of `WEFT_RUN_ASK_WORD`; empty without memory.
  [[nodiscard]] std::string make_word() { return asks_.make(); }
  [[nodiscard]] int word_fd() const noexcept { return asks_.fd(); }
  /// The lines of reports, taken out of the ranks' output.
  [[nodiscard]] reports& lines() noexcept { return lines_; }

  /// Asks all ranks, as the job is to end. False if none of the running ranks would answer.
  [[nodiscard]] bool try_ask_before_end(const end_reason& reason);
  /// Shows the reports once all ranks that answer have written theirs, or have had the time. **Returns** why the job is
  /// to end now, if they were asked before its end. Called once in each pass of the loop.
  [[nodiscard]] std::optional<end_reason> check();
  /// Shows the reports that there are.
  void show();
  [[nodiscard]] const deadline& next() const noexcept { return show_at_; }
  [[nodiscard]] bool is_end_pending() const noexcept { return end_.has_value(); }

 private:
  const live_ranks& live_;
  rank_output& output_;
  std::function<bool(std::uint32_t rank)> may_answer_;
  base::ask_word asks_;
  reports lines_;
  std::optional<end_reason> end_;  // the job ends for it once the reports are shown
  deadline show_at_;               // the reports are shown then, whether or not all ranks have written theirs
};

}  // namespace weft::run
