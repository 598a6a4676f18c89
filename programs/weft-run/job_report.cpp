// SPDX-License-Identifier: BSD-3-Clause
// What ranks wait for: a rank in which nothing moves writes it by itself, and then the others are asked; all are asked
// before the job is ended because of its time.
#include <fmt/format.h>

#include <algorithm>

#include "weft-run/job.hpp"

namespace weft::run {
namespace {

// How long weft-run waits for reports. Ranks look five times in a second whether they are asked.
constexpr std::chrono::seconds patience{2};

}  // namespace

bool job::may_answer_to_asks(std::uint32_t rank) const { return options_.asks && server_.is_in_use(rank); }

// Called once in each turn of the loop.
void job::check_reports() {
  if (reports_.has_some() && !reports_at_) {
    reports_at_ = clock::now() + patience;
    asks_.ask(base::ask_word::request::join);
  }
  const auto is_silent = [&](std::uint32_t rank) { return may_answer_to_asks(rank) && !reports_.is_complete(rank); };
  if (!reports_at_ || (std::ranges::any_of(running_, is_silent) && clock::now() < *reports_at_)) return;
  reports_at_.reset();
  show_reports();
  if (end_after_reports_ && !ending_) fail(end_after_reports_->exit_code, end_after_reports_->text);
  end_after_reports_.reset();
}

void job::show_reports() {
  if (!reports_.has_some()) return;
  std::vector<std::uint32_t> silent;
  std::copy_if(running_.begin(), running_.end(), std::back_inserter(silent),
               [&](std::uint32_t rank) { return !reports_.is_complete(rank); });
  const bool is_end = end_after_reports_.has_value();
  say(is_end ? "what the ranks wait for:" : "nothing moves in ranks of this job; they wait for:");
  errors_->take(sink::own_voice, {}, reports_.take_all());
  if (!silent.empty())
    say(fmt::format("{} wrote no report: no Weft program, stopped, or reported before", name_ranks(silent)));
  if (!succeeded_.empty()) say(fmt::format("{} ended with exit code 0 before", name_ranks(succeeded_)));
  if (!is_end) say("if these waits are meant, set WEFT_STUCK_AFTER=0 or more seconds");
}

void job::end_after_reports(int exit_code, const std::string& text) {
  if (ending_ || end_after_reports_) return;
  if (std::none_of(running_.begin(), running_.end(), [&](std::uint32_t rank) { return may_answer_to_asks(rank); })) {
    return fail(exit_code, text);
  }
  static_cast<void>(reports_.take_all());  // a newer one comes
  end_after_reports_ = {exit_code, text};
  reports_at_ = clock::now() + patience;
  asks_.ask(base::ask_word::request::last);
}

}  // namespace weft::run
