// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/failures.hpp"

#include <algorithm>

namespace weft::run {
namespace {

// A process whose descriptors the system has closed is gone in some milliseconds, unless it was another process that
// held the connection, such as a child of the rank.
constexpr std::chrono::milliseconds expected_within{500};

}  // namespace

std::optional<failure> failures::take_first() {
  if (waiting_.empty()) return std::nullopt;
  const auto left_at = [&](const failure& each) { return ranks_[each.rank].left_at; };
  const failure first = *std::ranges::min_element(waiting_, {}, left_at);
  const auto is_expected = [&](const one_rank& each) {
    return each.left_at != 0 && !each.has_ended && each.left_at < left_at(first);
  };
  if (std::ranges::any_of(ranks_, is_expected)) {
    if (!look_again_at_) look_again_at_ = clock::now() + expected_within;
    if (clock::now() < *look_again_at_) return std::nullopt;
  }
  look_again_at_.reset();
  waiting_.clear();
  return first;
}

}  // namespace weft::run
