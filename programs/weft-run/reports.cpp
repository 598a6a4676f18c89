// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/reports.hpp"

#include <algorithm>

namespace weft::run {
namespace {

constexpr std::string_view mark = ": stuck: ";         // after `weft 1/4`, or `weft` in a job of one rank
constexpr std::string_view last = "that is all; if ";  // begins the last line of a report

// The text of a report's line, behind the mark; else nothing.
std::string_view text_of(std::string_view line) noexcept {
  const std::size_t begin = line.find(mark);
  if (!line.starts_with("weft") || begin == line.npos) return {};
  const std::string_view name = line.substr(4, begin - 4);
  const bool is_rank =
      std::all_of(name.begin(), name.end(), [](char c) { return (c >= '0' && c <= '9') || c == '/' || c == ' '; });
  return is_rank ? line.substr(begin + mark.size()) : std::string_view{};
}

}  // namespace

bool may_have_report(std::string_view text) noexcept { return text.find(mark) != text.npos; }

std::string reports::take(std::uint32_t rank, std::string_view lines) {
  std::string rest;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end);
    const std::string_view text = text_of(line);
    if (text.empty()) {
      rest += line;
      continue;
    }
    has_some_ = true;
    of_rank& mine = by_rank_[rank];
    mine.is_complete = text.starts_with(last);
    if (!mine.is_complete) mine.lines += line;
  }
  return rest;
}

std::string reports::take_all() {
  std::string out;
  for (of_rank& each : by_rank_) {
    out += each.lines;
    each = {};
  }
  has_some_ = false;
  return out;
}

}  // namespace weft::run
