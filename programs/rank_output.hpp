// SPDX-License-Identifier: BSD-3-Clause
// What rank 0 prints for all ranks of a program: its results, and a progress line.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <weft/runtime.hpp>

namespace weft {

/// Rank 0 prints `text`. Collective: no rank leaves before rank 0 has printed, as a launcher may end the job at the
/// first failed exit.
inline void print_by_rank_0(runtime& rt, std::FILE* where, const std::string& text) {
  if (rt.rank() == 0) {
    std::fputs(text.c_str(), where);
    std::fflush(where);
  }
  rt.barrier();
}

/// A line of standard error that is written anew some times a second, and cleared at the end.
class progress_line {
 public:
  /// Whether standard error is a terminal: the program's own, or that of `weft-run`.
  [[nodiscard]] static bool has_terminal() {
    return ::isatty(STDERR_FILENO) == 1 || std::getenv("WEFT_RUN_TERMINAL_COLUMNS") != nullptr;
  }

  explicit progress_line(bool is_wanted) : is_wanted_{is_wanted} {}
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  ~progress_line() {
    if (is_shown_) std::fputs("\r\x1b[K", stderr);
  }

  /// Shows `make_text(seconds)`, with the seconds since the beginning, unless the line is fresh or not wanted.
  /// **Threads**: one at a time.
  template <class MakeText>
  void show(MakeText make_text) {
    const auto now = clock::now();
    if (!is_wanted_ || now < next_) return;
    next_ = now + period;
    fmt::print(stderr, "\r\x1b[K{}", make_text(std::chrono::duration<double>(now - begin_).count()));
    std::fflush(stderr);
    is_shown_ = true;
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds period{200};

  bool is_wanted_;
  bool is_shown_ = false;
  clock::time_point begin_ = clock::now();
  clock::time_point next_ = begin_ + period;
};

}  // namespace weft
