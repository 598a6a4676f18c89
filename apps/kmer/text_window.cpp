// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/text_window.hpp"

#include <algorithm>

#include "kmer/input_error.hpp"

namespace weft_kmer {

bool text_window::extend_to(std::size_t bytes) {
  while (text_.size() < bytes) {
    if (!extend()) return false;
  }
  return true;
}

namespace {

constexpr std::size_t none = std::string_view::npos;

// Where the line after the one at `from` begins; `none` where no line ends any more.
std::size_t next_line(text_window& window, std::size_t from) {
  std::size_t searched = from;
  while (true) {
    const std::size_t newline = window.text().find('\n', searched);
    if (newline != none) return newline + 1;
    searched = std::max(from, window.text().size());
    if (searched > from + record_bytes_max) {
      throw stream_error{"no record begins within 64 MiB: is this FASTQ with records of four lines?"};
    }
    if (!window.extend()) return none;
  }
}

// The letter at `at`, or 0 at the end.
char letter_at(text_window& window, std::size_t at) { return window.extend_to(at + 1) ? window.text()[at] : '\0'; }

}  // namespace

// A line that begins with '@' may be a quality line, too. But the line after the next one begins with '+' only for a
// header: after a quality line come a header and a sequence.
text_cut cut_fastq(text_window& window, std::size_t from) {
  std::size_t line = next_line(window, from);
  while (line != none) {
    if (line > from + record_bytes_max) {
      throw stream_error{"no record begins within 64 MiB: is this FASTQ with records of four lines?"};
    }
    const std::size_t following = next_line(window, line);
    if (letter_at(window, line) == '@' && following != none) {
      const std::size_t third = next_line(window, following);
      if (third != none && letter_at(window, third) == '+') return {line, true};
    }
    line = following;
  }
  return {window.text().size(), true};
}

text_cut cut_fasta(text_window& window, std::size_t from) {
  (void)window.extend_to(from + header_bytes_max);
  const std::string_view text = window.text();
  const std::string_view near = text.substr(std::min(from, text.size()), header_bytes_max);
  const std::size_t line_end = near.find_first_of("\r\n");
  if (line_end != none) return {from + line_end + 1, true};
  return {std::min(text.size(), from) + near.size(), false};
}

std::size_t reach_of(text_window& window, text_cut from, std::size_t bases) {
  bool line_begin = from.at_line_begin;
  std::size_t at = from.position;
  for (; bases > 0 && window.extend_to(at + 1); ++at) {
    const char letter = window.text()[at];
    if (line_begin && letter == '>') break;
    line_begin = is_line_end(letter);
    if (!line_begin) --bases;
  }
  return at;
}

}  // namespace weft_kmer
