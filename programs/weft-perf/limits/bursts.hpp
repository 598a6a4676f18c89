// SPDX-License-Identifier: BSD-3-Clause
// Limits are the best that the machine can do, so each is the best of many short bursts: a disturbance of a burst (a
// cold page, another program on the core) can only make it slower.
#pragma once

#include <algorithm>
#include <chrono>

#include "weft-perf/report/clock.hpp"

namespace weft::perf {

/// The fastest of the bursts that were added, in units of work a second.
class best_burst {
 public:
  /// A burst ends once it has taken so long: short against a slice of the system's time, long against the clock.
  static constexpr double seconds_min = 0.2e-3;

  /// A piece of a burst.
  void add(double work, double seconds) noexcept {
    work_ += work;
    seconds_ += seconds;
    if (seconds_ >= seconds_min) end_burst();
  }
  /// Work a second; a burst that has not ended counts where there is no other.
  [[nodiscard]] double rate() const noexcept {
    if (best_ > 0) return best_;
    return seconds_ > 0 ? work_ / seconds_ : 0;
  }
  [[nodiscard]] unsigned count() const noexcept { return count_; }
  /// For work that is counted in times: ns for each.
  [[nodiscard]] double nanoseconds() const noexcept { return rate() > 0 ? 1e9 / rate() : 0; }

 private:
  void end_burst() noexcept {
    best_ = std::max(best_, work_ / seconds_);
    ++count_;
    work_ = 0;
    seconds_ = 0;
  }

  double best_ = 0;
  unsigned count_ = 0;
  double work_ = 0;
  double seconds_ = 0;
};

/// Runs `piece`, which answers how much work it did, for `seconds`, at least once; bursts of such pieces. Where there
/// were only few, as other programs had the cores, it continues for up to five times as long.
template <class Piece>
[[nodiscard]] best_burst bursts_of(double seconds, Piece&& piece) {
  best_burst out;
  constexpr unsigned bursts_min = 16;
  const auto begin = clock::now();
  auto before = begin;
  double took = 0;
  do {
    const double work = piece();
    const auto now = clock::now();
    out.add(work, std::chrono::duration<double>(now - before).count());
    before = now;
    took = std::chrono::duration<double>(now - begin).count();
  } while (took < seconds || (out.count() < bursts_min && took < 5 * seconds));
  return out;
}

}  // namespace weft::perf
