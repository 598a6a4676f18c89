// SPDX-License-Identifier: BSD-3-Clause
// Sequences of a stream that can be read only once, kept for further passes: two bits a base, in a file without a name
// in TMPDIR. One thread alone writes and reads a spool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kmer/byte_stream.hpp"
#include "kmer/letter_tally.hpp"

namespace weft_kmer {

/// A visitor for `parse` that keeps all runs of at least k bases.
class spool {
 public:
  explicit spool(unsigned k) : k_{k} {}

  void begin_record() { end_run(); }
  void bases(std::string_view letters);
  /// No more comes. Errors: job_error where there is no space left.
  void finish();

  /// K-mers in it.
  [[nodiscard]] std::uint64_t kmers() const noexcept { return kmers_; }

  [[nodiscard]] const letter_tally& letters() const noexcept { return letters_; }

  /// Starts at the beginning.
  void rewind();
  /// Calls `visit` for the next run. Returns: false at the end. Errors: job_error.
  template <typename Visitor>
  bool replay(Visitor&& visit) {
    if (!read_run()) return false;
    visit.begin_record();
    visit.bases(run_);
    return true;
  }

 private:
  void end_run();
  void write_buffer();
  void open();
  [[nodiscard]] bool read_run();
  [[nodiscard]] bool refill(std::size_t bytes);

  unsigned k_;
  std::uint64_t kmers_ = 0;
  letter_tally letters_;
  std::string run_;  // letters
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;  // of what has not been read from the buffer
  std::uint64_t read_offset_ = 0;
  file_descriptor file_;
};

}  // namespace weft_kmer
