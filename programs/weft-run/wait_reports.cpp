// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/wait_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::run {
namespace {

// How long weft-run waits for reports. Ranks look five times in a second whether they are asked.
constexpr std::chrono::seconds patience{2};

}  // namespace

wait_reports::wait_reports(std::uint32_t ranks, const live_ranks& live, rank_output& output,
                           std::function<bool(std::uint32_t rank)> may_answer)
    : live_{live}, output_{output}, may_answer_{std::move(may_answer)}, lines_{ranks} {}

bool wait_reports::try_ask_before_end(const end_reason& reason) {
  if (std::ranges::none_of(live_.running(), may_answer_)) return false;
  static_cast<void>(lines_.take_all());  // a newer one comes
  end_ = reason;
  show_at_ = clock::now() + patience;
  asks_.ask(base::ask_word::request::last);
  return true;
}

std::optional<end_reason> wait_reports::check() {
  if (lines_.has_some() && !show_at_) {
    show_at_ = clock::now() + patience;
    asks_.ask(base::ask_word::request::join);
  }
  const auto is_silent = [&](std::uint32_t rank) { return may_answer_(rank) && !lines_.is_complete(rank); };
  if (!show_at_ || (std::ranges::any_of(live_.running(), is_silent) && clock::now() < *show_at_)) return std::nullopt;
  show_at_.reset();
  show();
  return std::exchange(end_, std::nullopt);
}

void wait_reports::show() {
  if (!lines_.has_some()) return;
  std::vector<std::uint32_t> silent;
  std::copy_if(live_.running().begin(), live_.running().end(), std::back_inserter(silent),
               [&](std::uint32_t rank) { return !lines_.is_complete(rank); });
  output_.say(end_ ? "what the ranks wait for:" : "nothing moves in ranks of this job; they wait for:");
  output_.take(lines_.take_all());
  if (!silent.empty())
    output_.say(fmt::format("{} wrote no report: no Weft program, stopped, or reported before", name_ranks(silent)));
  if (!live_.succeeded().empty())
    output_.say(fmt::format("{} ended with exit code 0 before", name_ranks(live_.succeeded())));
  if (!end_) output_.say("if these waits are meant, set WEFT_STUCK_AFTER=0 or more seconds");
}

}  // namespace weft::run
