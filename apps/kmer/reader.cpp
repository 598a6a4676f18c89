// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/reader.hpp"

#include "kmer/range_source.hpp"
#include "kmer/stream_source.hpp"

namespace weft_kmer {

void reader::add(const input_file& file, const input_range& range, unsigned k) {
  if (file.kind == file_kind::uncompressed || file.kind == file_kind::bgzip) {
    sources_.push_back(std::make_unique<range_source>(file, range, k));
  } else {
    sources_.push_back(std::make_unique<stream_source>(file, k));
  }
}

reader::result reader::next(cursor& mine, text_chunk& chunk) {
  bool busy = false;
  for (std::size_t i = 0; i < sources_.size(); ++i, ++mine) {
    chunk_source& source = *sources_[mine % sources_.size()];
    switch (source.next(chunk)) {
      case chunk_answer::chunk: return {chunk_answer::chunk, &source};
      case chunk_answer::busy: busy = true; break;
      case chunk_answer::end: break;
    }
  }
  return {busy ? chunk_answer::busy : chunk_answer::end, nullptr};
}

std::uint64_t reader::bytes_consumed() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& source : sources_) bytes += source->bytes_consumed();
  return bytes;
}

}  // namespace weft_kmer
