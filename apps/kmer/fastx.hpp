// FASTA and FASTQ: what a piece of text says. A visitor hears `begin_record()` where a sequence begins, then
// `bases(text)` for each line of it.
#pragma once

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

/// Takes a line off `text`, without its end (LF or CR LF).
[[nodiscard]] inline std::string_view take_line(std::string_view& text) noexcept {
  const char* newline = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
  std::string_view line =
      text.substr(0, newline == nullptr ? text.size() : static_cast<std::size_t>(newline - text.data()));
  text.remove_prefix(newline == nullptr ? text.size() : line.size() + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

/// Parses whole records of four lines. Returns: how many. Errors: record_error.
template <typename Visitor>
std::uint64_t parse_fastq(std::string_view text, Visitor&& visit) {
  std::uint64_t records = 0;
  while (!text.empty()) {
    const std::string_view header = take_line(text);
    if (header.empty()) continue;  // as at the end of some files
    if (header.front() != '@') throw record_error{records, "a record has to begin with '@'"};
    if (text.empty()) throw record_error{records, "the record has no sequence"};
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
  std::string_view text = piece.text.substr(0, piece.own_bytes);
  visit.begin_record();  // the piece may begin within a record
  for (bool line_begin = piece.at_line_begin; !text.empty(); line_begin = true) {
    const std::string_view line = take_line(text);
    if (line_begin && !line.empty() && line.front() == '>') {
      if (line.size() + 2 > header_bytes_max) throw record_error{records, "the header has more than 65534 letters"};
      visit.begin_record();
      ++records;
    } else {
      visit.bases(line);
    }
  }
  // The k-mers that begin in the last k - 1 bases end in what follows.
  bool line_begin = piece.own_bytes == 0 ? piece.at_line_begin : piece.text[piece.own_bytes - 1] == '\n';
  text = piece.text.substr(piece.own_bytes);
  for (std::size_t missing = k - 1; missing > 0 && !text.empty(); line_begin = true) {
    std::string_view line = take_line(text);
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
