// SPDX-License-Identifier: BSD-3-Clause
// Text that grows at its end on demand, and the places where it may be cut into pieces.
//
// Where a piece ends is a function of the text alone. So two threads, or two ranks, that cut at the same place agree,
// whichever of them reads first: no record is counted twice and none is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kmer/fastx.hpp"

namespace weft_kmer {

class text_window {
 public:
  virtual ~text_window() = default;

  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), text_.size()}; }

  /// Appends what follows. Returns: false at the end of the file. Errors: stream_error.
  [[nodiscard]] virtual bool extend() = 0;

  /// Has at least so many bytes afterwards, if there are as many. Returns: whether there are.
  bool extend_to(std::size_t bytes);

 protected:
  std::string text_;
};

/// A position and whether a line begins there.
struct text_cut {
  std::size_t position = 0;
  bool at_line_begin = true;
};

/// The first record that begins after the first line end at or after `from`; the end of the text where there is none.
/// Errors: stream_error where none begins for `record_bytes_max`.
[[nodiscard]] text_cut cut_fastq(text_window& window, std::size_t from);
inline constexpr std::size_t record_bytes_max = std::size_t{64} << 20;

/// The first line after the first line end at or after `from`; within a long line, a place in it.
[[nodiscard]] text_cut cut_fasta(text_window& window, std::size_t from);

[[nodiscard]] inline text_cut cut(text_window& window, text_format format, std::size_t from) {
  return format == text_format::fasta ? cut_fasta(window, from) : cut_fastq(window, from);
}

/// How far k-mers that begin before `from` may reach: the end of the next `bases` bases, or less at the record's end.
[[nodiscard]] std::size_t reach_of(text_window& window, text_cut from, std::size_t bases);

}  // namespace weft_kmer
