// SPDX-License-Identifier: BSD-3-Clause
// Times at which a job does something by itself.
#pragma once

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <optional>

namespace weft::run {

using clock = std::chrono::steady_clock;
using deadline = std::optional<clock::time_point>;

/// So many seconds from now, 1e8 at most.
[[nodiscard]] inline clock::time_point after(double seconds) {
  return clock::now() +
         std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{std::min(seconds, 1e8)});
}

/// The first of them; nothing if none is set.
[[nodiscard]] inline deadline earliest(std::initializer_list<deadline> all) {
  deadline out;
  for (const deadline& each : all) {
    if (each && (!out || *each < *out)) out = each;
  }
  return out;
}

/// Whether it is set and has passed; it is not set afterwards.
[[nodiscard]] inline bool take_passed(deadline& each, clock::time_point now) {
  if (!each || now < *each) return false;
  each.reset();
  return true;
}

}  // namespace weft::run
