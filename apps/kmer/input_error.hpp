// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with an input or an output. The texts are for users, who know nothing of chunks and ranges.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace weft_kmer {

/// Ends the job: the text names the file, and the record where there is one.
class job_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Something wrong in a piece of text; the caller that knows the file turns it into a `job_error`.
class record_error : public std::runtime_error {
 public:
  /// `records_before`: whole records in the piece before the bad one.
  record_error(std::uint64_t records_before, const std::string& problem)
      : std::runtime_error{problem}, records_before_{records_before} {}

  [[nodiscard]] std::uint64_t records_before() const noexcept { return records_before_; }

 private:
  std::uint64_t records_before_;
};

/// Compressed data that is damaged or ends early, or a file that can't be read; the text doesn't name the file.
class stream_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace weft_kmer
