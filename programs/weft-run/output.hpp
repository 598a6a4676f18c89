// SPDX-License-Identifier: BSD-3-Clause
// The output of many ranks on one descriptor, line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "weft-run/reports.hpp"

namespace weft::run {

/// Where lines go: weft-run's standard output or standard error. Keeps lines that can't be written yet, and says when
/// they are so many that the ranks have to wait.
class sink {
 public:
  static constexpr std::size_t held_bytes_max = std::size_t{256} << 10;
  static constexpr std::uint32_t own_voice = ~0U;  ///< the stream of weft-run's own messages

  /// `fd` is not owned. `terminal`: a carriage return ends a part that may be shown.
  sink(int fd, bool terminal) noexcept : fd_{fd}, terminal_{terminal} {}

  /// Takes whole lines, or a part of a line where that can't wait. A line that another stream has left unfinished is
  /// ended first, so that two streams never share one.
  void take(std::uint32_t stream, std::string_view prefix, std::string_view text);

  /// Writes what the descriptor accepts now. **Returns** 0, or the errno that ends all writing (EPIPE, ENOSPC).
  [[nodiscard]] int flush() noexcept;

  [[nodiscard]] bool terminal() const noexcept { return terminal_; }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] bool empty() const noexcept { return written_ == held_.size(); }
  [[nodiscard]] bool full() const noexcept { return held_.size() - written_ >= held_bytes_max; }
  [[nodiscard]] bool closed() const noexcept { return closed_; }

 private:
  enum class position : std::uint8_t { line_start, inside_line, returned };

  int fd_;
  bool terminal_;
  bool closed_ = false;
  position position_ = position::line_start;
  std::uint32_t last_ = own_voice;
  std::string held_;
  std::size_t written_ = 0;
};

/// One rank's standard output or error: gathers bytes into lines of bounded length.
class line_gatherer {
 public:
  static constexpr std::size_t line_bytes_max = std::size_t{1} << 20;

  /// Lines of reports go to `apart`, unless that is null.
  line_gatherer(sink& to, std::uint32_t stream, std::string prefix, reports* apart = nullptr)
      : to_{&to}, stream_{stream}, prefix_{std::move(prefix)}, apart_{apart} {}

  /// Passes on all whole lines. A line longer than the bound is passed on in parts.
  void append(std::string_view bytes);
  /// Passes on the line that has begun, as far as it goes: no bytes follow for now, or the stream has ended.
  void show_begun();
  [[nodiscard]] bool has_begun() const noexcept { return !begun_.empty(); }
  [[nodiscard]] sink& target() const noexcept { return *to_; }

 private:
  void pass_on(std::string_view lines);

  sink* to_;
  std::uint32_t stream_;
  std::string prefix_;
  reports* apart_;
  std::string begun_;
};

}  // namespace weft::run
