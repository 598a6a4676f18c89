// SPDX-License-Identifier: BSD-3-Clause
// FASTA and FASTQ: what a piece of text says. A visitor hears `begin_record()` where a sequence begins, then
// `bases(text)` for each line of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "kmer/input_error.hpp"

namespace weft_kmer {

enum class text_format : std::uint8_t { fasta, fastq };

/// Header lines of FASTA are shorter than this. Where no line ends within so many bytes, there is a sequence.
inline constexpr std::size_t header_bytes_max = std::size_t{64} << 10;

/// A piece of text that one thread parses.
struct text_piece {
  std::string_view text;      ///< with what follows the piece as far as its last k-mers need it
  std::size_t own_bytes = 0;  ///< k-mers that begin in the first so many bytes belong to this piece
  text_format format = text_format::fastq;
  bool at_line_begin = true;  ///< false: it begins in the middle of a line of a sequence
};

/// Takes a line off `text`, without its end (LF, and CR before it).
[[nodiscard]] inline std::string_view take_line(std::string_view& text) noexcept {
  const char* newline = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
  std::string_view line =
      text.substr(0, newline == nullptr ? text.size() : static_cast<std::size_t>(newline - text.data()));
  text.remove_prefix(newline == nullptr ? text.size() : line.size() + 1);
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

/// Lines of FASTA end in LF, in CR LF, or, as old Macintosh text, in CR.
[[nodiscard]] constexpr bool is_line_end(char letter) noexcept { return letter == '\n' || letter == '\r'; }

/// The lines of a piece of FASTA. Where each end of CR LF counts as one, there are empty lines, which mean nothing.
class fasta_lines {
 public:
  explicit fasta_lines(std::string_view text) noexcept : text_{text} {}

  [[nodiscard]] bool ended() const noexcept { return text_.empty(); }

  /// The next line, without its end.
  [[nodiscard]] std::string_view take() noexcept {
    // Looking for LF again from each CR on would take the square of the time in a text without LF.
    if (until_newline_ == 0) until_newline_ = find('\n', text_.size()) + 1;
    const std::size_t bytes = find('\r', std::min(until_newline_ - 1, text_.size()));
    const std::string_view line = text_.substr(0, bytes);
    const std::size_t taken = std::min(bytes + 1, text_.size());
    text_.remove_prefix(taken);
    until_newline_ -= bytes + 1;
    return line;
  }

 private:
  // Where the letter is first in the first `bytes` bytes; `bytes` where it is not.
  [[nodiscard]] std::size_t find(char letter, std::size_t bytes) const noexcept {
    const void* found = bytes == 0 ? nullptr : std::memchr(text_.data(), letter, bytes);
    return found == nullptr ? bytes : static_cast<std::size_t>(static_cast<const char*>(found) - text_.data());
  }

  std::string_view text_;
  std::size_t until_newline_ = 0;  // bytes up to and with the next LF, or one more than there are; 0: not known
};

/// Parses whole records of four lines. Returns: how many. Errors: record_error.
template <typename Visitor>
std::uint64_t parse_fastq(std::string_view text, Visitor&& visit) {
  std::uint64_t records = 0;
  while (!text.empty()) {
    const std::string_view header = take_line(text);
    if (header.empty()) continue;  // as at the end of some files
    if (header.front() != '@') throw record_error{records, "a record has to begin with '@'"};
    if (text.empty()) {
      throw record_error{records, header.find('\r') == std::string_view::npos
                                      ? "the record has no sequence"
                                      : "the lines end in carriage returns alone, and FASTQ needs line feeds"};
    }
    const std::string_view sequence = take_line(text);
    // No letters; and where a file is cut, such a line is taken for a separator or a header (cut_fastq).
    if (!sequence.empty() && (sequence.front() == '+' || sequence.front() == '@')) {
      throw record_error{records, "the record has no sequence"};
    }
    if (text.empty()) throw record_error{records, "the record has no quality line"};
    const std::string_view separator = take_line(text);
    if (separator.empty() || separator.front() != '+') {
      throw record_error{records, "the record has no quality line (its third line has to begin with '+')"};
    }
    if (text.empty() && !sequence.empty()) throw record_error{records, "the record has no quality line"};
    const std::string_view quality = take_line(text);
    if (quality.size() != sequence.size()) {
      throw record_error{records, "the sequence has " + std::to_string(sequence.size()) +
                                      " letters, its quality line " + std::to_string(quality.size())};
    }
    if (sequence.find('\r') != std::string_view::npos) {
      throw record_error{records, "a carriage return in the middle of the sequence"};
    }
    visit.begin_record();
    visit.bases(sequence);
    ++records;
  }
  return records;
}

/// Parses lines of FASTA. Returns: how many records begin in the piece. Errors: record_error.
template <typename Visitor>
std::uint64_t parse_fasta(const text_piece& piece, unsigned k, Visitor&& visit) {
  std::uint64_t records = 0;
  fasta_lines own{piece.text.substr(0, piece.own_bytes)};
  visit.begin_record();  // the piece may begin within a record
  for (bool line_begin = piece.at_line_begin; !own.ended(); line_begin = true) {
    const std::string_view line = own.take();
    if (line_begin && !line.empty() && line.front() == '>') {
      if (line.size() + 2 > header_bytes_max) throw record_error{records, "the header has more than 65534 letters"};
      visit.begin_record();
      ++records;
    } else {
      visit.bases(line);
    }
  }
  // The k-mers that begin in the last k - 1 bases end in what follows.
  bool line_begin = piece.own_bytes == 0 ? piece.at_line_begin : is_line_end(piece.text[piece.own_bytes - 1]);
  fasta_lines following{piece.text.substr(piece.own_bytes)};
  for (std::size_t missing = k - 1; missing > 0 && !following.ended(); line_begin = true) {
    std::string_view line = following.take();
    if (line_begin && !line.empty() && line.front() == '>') break;
    line = line.substr(0, missing);
    missing -= line.size();
    visit.bases(line);
  }
  return records;
}

template <typename Visitor>
std::uint64_t parse(const text_piece& piece, unsigned k, Visitor&& visit) {
  return piece.format == text_format::fasta ? parse_fasta(piece, k, visit)
                                            : parse_fastq(piece.text.substr(0, piece.own_bytes), visit);
}

}  // namespace weft_kmer
