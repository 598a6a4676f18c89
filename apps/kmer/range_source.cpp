// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/range_source.hpp"

#include <algorithm>
#include <utility>

#include "kmer/bgzip.hpp"
#include "kmer/input_error.hpp"
#include "kmer/stream_source.hpp"

namespace weft_kmer {

namespace {

class uncompressed_window final : public text_window {
 public:
  uncompressed_window(int fd, std::uint64_t file_bytes, std::uint64_t offset, std::size_t expected_bytes)
      : fd_{fd}, file_bytes_{file_bytes}, offset_{offset}, step_{expected_bytes} {}

  // The file ends where it ended when the ranks agreed on its size: so all of them cut it alike.
  [[nodiscard]] bool extend() override {
    const std::size_t before = text_.size();
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(step_, file_bytes_ - offset_));
    text_.resize(before + wanted);
    const std::size_t got = read_fully_at(fd_, std::as_writable_bytes(std::span{text_}).subspan(before), offset_);
    text_.resize(before + got);
    offset_ += got;
    step_ = std::size_t{64} << 10;
    if (got < wanted) throw stream_error{"ends after " + std::to_string(offset_) + " bytes, too early"};
    return got > 0;
  }

 private:
  int fd_;
  std::uint64_t file_bytes_;
  std::uint64_t offset_;
  std::size_t step_;
};

struct null_visitor {
  void begin_record() noexcept {}
  void bases(std::string_view) noexcept {}
};

// The piece between the cuts at two positions of the window's text.
void take_piece(text_window& window, std::size_t end, bool first, bool last, unsigned k, text_chunk& chunk) {
  text_cut from{0, true};
  if (!first) from = cut(window, chunk.format, 0);
  text_cut to{0, true};
  if (last) {
    while (window.extend()) {
    }
    to.position = window.text().size();
  } else {
    to = cut(window, chunk.format, end);
  }
  const std::size_t reach = chunk.format == text_format::fasta ? reach_of(window, to, k - 1) : to.position;
  chunk.text.assign(window.text().substr(from.position, reach - from.position));
  chunk.own_bytes = to.position - from.position;
  chunk.at_line_begin = from.at_line_begin;
}

}  // namespace

range_source::range_source(input_file file, const input_range& range, unsigned k, std::size_t chunk_bytes)
    : file_{std::move(file)}, range_{range}, k_{k}, chunk_bytes_{chunk_bytes}, next_{range.begin} {
  try {
    descriptor_ = open_for_reading(file_.path);
    if (const std::string change = change_of(descriptor_.get(), file_); !change.empty()) throw stream_error{change};
  } catch (const stream_error& e) {
    throw job_error{describe_error(file_.path, e.what())};
  }
}

chunk_answer range_source::next(text_chunk& chunk) {
  // [kmer.range] relaxed: hands out positions, and nothing with them.
  const std::uint64_t begin = next_.fetch_add(chunk_bytes_, std::memory_order_relaxed);
  if (begin >= range_.end) return chunk_answer::end;
  try {
    cut_chunk(begin, std::min(begin + chunk_bytes_, range_.end), chunk);
  } catch (const stream_error& e) {
    throw job_error{explain(e.what())};
  }
  if (const std::string change = change_of(descriptor_.get(), file_); !change.empty()) {
    throw job_error{describe_error(file_.path, change)};
  }
  return chunk_answer::chunk;
}

void range_source::cut_chunk(std::uint64_t begin, std::uint64_t end, text_chunk& chunk) const {
  chunk.format = file_.format;
  const int fd = descriptor_.get();
  const bool last = end == file_.bytes;
  if (file_.kind == file_kind::uncompressed) {
    uncompressed_window window{fd, file_.bytes, begin, static_cast<std::size_t>(end - begin) + (std::size_t{16} << 10)};
    take_piece(window, static_cast<std::size_t>(end - begin), begin == 0, last, k_, chunk);
    return;
  }
  const std::uint64_t block = begin == 0 ? 0 : find_bgzip_block(fd, file_.bytes, begin);
  if (block >= end) {
    chunk.text.clear();
    chunk.own_bytes = 0;
    return;
  }
  bgzip_window window{fd, file_.bytes, block};
  while (window.next_block() < end && window.extend()) {
  }
  take_piece(window, window.text().size(), begin == 0, last, k_, chunk);
}

std::uint64_t range_source::bytes_consumed() const noexcept {
  return std::min(next_.load(std::memory_order_relaxed), range_.end) - range_.begin;  // [stat]
}

std::string range_source::explain(const text_chunk&, const record_error& error) const { return explain(error.what()); }

std::string range_source::explain(const std::string& fallback) const {
  // If the file has changed, its present content proves nothing about the former one.
  if (const std::string change = change_of(descriptor_.get(), file_); !change.empty()) {
    return describe_error(file_.path, change);
  }
  const std::string found = first_error(file_.path, k_);
  return found.empty() ? describe_error(file_.path, fallback) : found;
}

std::string first_error(const std::string& path, unsigned k) {
  stream_source whole{path, k};
  text_chunk chunk;
  try {
    while (whole.next(chunk) == chunk_answer::chunk) {
      try {
        parse(chunk.piece(), k, null_visitor{});
      } catch (const record_error& e) {
        return whole.explain(chunk, e);
      }
    }
  } catch (const job_error& e) {
    return e.what();
  }
  return {};
}

}  // namespace weft_kmer
