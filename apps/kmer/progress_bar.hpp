// SPDX-License-Identifier: BSD-3-Clause
// A line on the terminal that says how far the job is, how fast it goes and how long it will take.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace weft_kmer {

class progress_bar {
 public:
  /// True on a terminal: our own, or that of `weft-run`, which says how wide it is.
  [[nodiscard]] static bool is_wanted();

  /// `bytes_total`: 0 if that is not known.
  explicit progress_bar(std::uint64_t bytes_total);
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;
  /// Clears the line.
  ~progress_bar();

  void show(std::uint64_t bytes_done);

 private:
  std::uint64_t bytes_total_;
  unsigned columns_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

/// The line for so much done in so many seconds, at most `columns` wide.
[[nodiscard]] std::string progress_line(std::uint64_t bytes_done, std::uint64_t bytes_total, double seconds,
                                        unsigned columns);

}  // namespace weft_kmer
