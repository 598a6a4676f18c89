// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/stream_source.hpp"

#include <algorithm>
#include <utility>

#include "kmer/input_error.hpp"

namespace weft_kmer {

stream_source::stream_source(std::string path, unsigned k, std::size_t chunk_bytes)
    : path_{std::move(path)}, k_{k}, chunk_bytes_{chunk_bytes} {}

stream_source::stream_source(const input_file& file, unsigned k)
    : path_{file.path}, file_{file.kind == file_kind::stream ? std::nullopt : std::optional{file}}, k_{k} {}

std::string stream_source::change() const {
  return file_ && stream_ ? change_of(stream_->descriptor(), *file_) : std::string{};
}

bool stream_source::extend() {
  constexpr std::size_t step = std::size_t{64} << 10;
  const std::size_t before = text_.size();
  text_.resize(before + step);
  std::size_t got = 0;
  try {
    got = stream_->read({text_.data() + before, step});
  } catch (const stream_error&) {
    text_.resize(before);
    throw;
  }
  text_.resize(before + got);
  bytes_consumed_.store(stream_->bytes_consumed(), std::memory_order_relaxed);  // [stat]
  return got > 0;
}

void stream_source::open() {
  stream_.emplace(path_);
  if (!extend()) throw stream_error{"is empty"};
  format_ = format_of(text().front());
}

chunk_answer stream_source::next(text_chunk& chunk) {
  const std::unique_lock lock{mutex_, std::try_to_lock};
  if (!lock) return chunk_answer::busy;
  if (ended_) return chunk_answer::end;
  try {
    if (!stream_) open();
    const bool has_more = extend_to(1);
    if (has_more) cut_chunk(chunk);
    ended_ = !has_more;
    if (const std::string problem = change(); !problem.empty()) throw job_error{describe_error(path_, problem)};
    return has_more ? chunk_answer::chunk : chunk_answer::end;
  } catch (const stream_error& e) {
    ended_ = true;
    if (const std::string problem = change(); !problem.empty()) throw job_error{describe_error(path_, problem)};
    if (records_before_ == 0 && text().empty()) throw job_error{describe_error(path_, e.what())};
    // In FASTA the header of the record that breaks off has been counted.
    const std::uint64_t whole = records_before_ + records_in(text());
    throw job_error{describe_error(path_, whole + (format_ == text_format::fastq), e.what())};
  }
}

void stream_source::cut_chunk(text_chunk& chunk) {
  text_cut end{0, true};
  if (extend_to(chunk_bytes_)) {
    end = cut(*this, format_, chunk_bytes_ - 1);
  } else {
    end.position = text_.size();
  }
  const std::size_t reach = format_ == text_format::fasta ? reach_of(*this, end, k_ - 1) : end.position;
  chunk.text = std::exchange(text_, text_.substr(end.position));
  chunk.text.resize(reach);
  chunk.own_bytes = end.position;
  chunk.format = format_;
  chunk.at_line_begin = std::exchange(at_line_begin_, end.at_line_begin);
  chunk.records_before = records_before_;
  records_before_ += records_in(chunk.piece().text.substr(0, chunk.own_bytes));
}

// Whole records of four lines, or headers of FASTA.
std::uint64_t stream_source::records_in(std::string_view text) const noexcept {
  if (format_ == text_format::fastq) {
    std::uint64_t lines = 0;
    while (!text.empty()) {
      const bool blank = take_line(text).empty();
      if (!blank || lines % 4 != 0) ++lines;
    }
    return lines / 4;
  }
  std::uint64_t headers = 0;
  for (std::size_t at = text.find('>'); at != std::string_view::npos; at = text.find('>', at + 1)) {
    headers += at == 0 || is_line_end(text[at - 1]);
  }
  return headers;
}

std::string stream_source::explain(const text_chunk& chunk, const record_error& error) const {
  if (const std::string problem = change(); !problem.empty()) return describe_error(path_, problem);
  return describe_error(path_, chunk.records_before + error.records_before() + 1, error.what());
}

}  // namespace weft_kmer
