// SPDX-License-Identifier: BSD-3-Clause
// The ranks' pipes, and weft-run's standard output and standard error, to which their lines go.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft-run/deadlines.hpp"
#include "weft-run/event_loop.hpp"
#include "weft-run/output.hpp"
#include "weft-run/reports.hpp"

namespace weft::run {

/// As in `rank 1` or `ranks 0, 2-3`.
[[nodiscard]] std::string name_ranks(const std::vector<std::uint32_t>& ranks);

class rank_output {
 public:
  /// Called where lines can't be written any more. `is_error`: not because their reader has gone.
  using loss = std::function<void(const std::string& text, bool is_error)>;

  /// `is_quiet`: lines of weft-run's own are dropped.
  rank_output(event_loop& loop, bool is_quiet, loss on_loss);
  rank_output(const rank_output&) = delete;
  rank_output& operator=(const rank_output&) = delete;

  /// Adds the pipes of the next rank. Lines of reports go to `apart`.
  void add(descriptor output, descriptor errors, const std::string& prefix, reports& apart);

  /// A line of weft-run's own among the output.
  void say(const std::string& text);
  /// Whole lines of weft-run's own, without its name before them.
  void take(const std::string& lines);

  /// Watches the descriptors that can be read and written now: a rank's output waits while the sink is full.
  void refresh_watches();
  /// Reads what a pipe has: 2 r is standard output of rank r, 2 r + 1 standard error.
  void read(std::uint32_t index);
  /// Writes what standard output (0) or standard error (1) accepts.
  void write(std::uint32_t index) { flush(index == 0 ? output_ : own_errors_); }
  void flush();
  /// Passes on the output of a rank so far, before weft-run writes a line about that rank.
  void drain(std::uint32_t rank);

  /// No process of the job is left: bytes that are in a pipe now are still the job's.
  void note_end();
  /// Closes the pipes that hold nothing of the ranks any more, once that is so of all, and says who lost what. A
  /// process outside of the job may hold a pipe of it: a rank has passed the descriptor on, or there is no /proc to
  /// find its descendants in.
  void leave_held_pipes();

  /// Whether all has been written.
  [[nodiscard]] bool is_complete() const noexcept { return open_ == 0 && output_.empty() && errors_->empty(); }
  [[nodiscard]] bool has_open_pipes() const noexcept { return open_ > 0; }
  /// Whether lines were lost, as their reader has gone.
  [[nodiscard]] bool is_lost() const noexcept { return is_lost_; }

  /// When the line that rank 0 has begun is shown, which may be a question.
  [[nodiscard]] const deadline& prompt_at() const noexcept { return prompt_at_; }
  void check_prompt(clock::time_point now);

 private:
  struct pipe {
    descriptor fd;
    line_gatherer lines;
    bool is_watched = false;
    std::size_t bytes_owed = 0;  // counts the bytes that were in it when the last rank was gone
  };

  void flush(sink& target);
  void watch_for_prompt(std::uint32_t index);
  [[nodiscard]] static bool has_more_of_ranks(const pipe& each);

  event_loop& loop_;
  bool is_quiet_;
  loss on_loss_;
  sink output_;
  sink own_errors_;
  sink* errors_;  // output_ itself, where both are one file
  std::array<bool, 2> sink_watched_{};
  std::vector<pipe> pipes_;
  std::size_t open_ = 0;
  bool may_prompt_;  // rank 0's input is a terminal, a pipe or a socket
  bool is_lost_ = false;
  deadline prompt_at_;
};

}  // namespace weft::run
