// SPDX-License-Identifier: BSD-3-Clause
// The reports of ranks in which nothing moves (WEFT_STUCK_AFTER), gathered so that they are shown together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::run {

class reports {
 public:
  explicit reports(std::uint32_t ranks) : by_rank_(ranks) {}

  /// Takes the lines of a report out of `lines`, which `rank` has written. **Returns** the other lines.
  [[nodiscard]] std::string take(std::uint32_t rank, std::string_view lines);

  /// Whether a line was taken that was not shown yet.
  [[nodiscard]] bool has_some() const noexcept { return has_some_; }
  /// Whether the rank has written a whole report since then.
  [[nodiscard]] bool is_complete(std::uint32_t rank) const noexcept { return by_rank_[rank].is_complete; }
  /// The lines, in the order of the ranks; none is left.
  [[nodiscard]] std::string take_all();

 private:
  struct of_rank {
    std::string lines;
    bool is_complete = false;
  };

  std::vector<of_rank> by_rank_;
  bool has_some_ = false;
};

/// Whether text has a line that may be a report's.
[[nodiscard]] bool may_have_report(std::string_view text) noexcept;

}  // namespace weft::run
