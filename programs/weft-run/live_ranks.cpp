// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/live_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "weft-run/rank_output.hpp"

namespace weft::run {
namespace {

std::string name_with_verb(const std::vector<std::uint32_t>& ranks, const char* singular, const char* plural) {
  return fmt::format("{} {}", name_ranks(ranks), ranks.size() == 1 ? singular : plural);
}

}  // namespace

live_ranks::live_ranks(std::uint32_t ranks, double notice_s, double linger_s)
    : running_(ranks), notice_s_{notice_s}, linger_s_{linger_s} {
  std::iota(running_.begin(), running_.end(), 0U);
}

void live_ranks::note_end(std::uint32_t rank) { std::erase(running_, rank); }

void live_ranks::note_success(std::uint32_t rank) {
  succeeded_.insert(std::upper_bound(succeeded_.begin(), succeeded_.end(), rank), rank);
  const bool is_over = running_.empty();
  notice_at_ = is_over || notice_s_ == 0 ? std::nullopt : deadline{after(notice_s_)};
  linger_at_ = is_over || linger_s_ == 0 ? std::nullopt : deadline{after(linger_s_)};
}

std::optional<std::string> live_ranks::take_notice(clock::time_point now) {
  if (!take_passed(notice_at_, now)) return std::nullopt;
  std::string out = describe(notice_s_) + "; --linger SECONDS ends such a job";
  notice_s_ = 0;
  return out;
}

std::optional<std::string> live_ranks::take_linger(clock::time_point now) {
  if (!take_passed(linger_at_, now)) return std::nullopt;
  return describe(linger_s_) + "; ending the job";
}

std::string live_ranks::describe(double seconds) const {
  return fmt::format("{} ended with exit code 0, and {} s later {}", name_with_verb(succeeded_, "has", "have"), seconds,
                     name_with_verb(running_, "still runs", "still run"));
}

}  // namespace weft::run
