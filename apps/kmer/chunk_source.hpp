// SPDX-License-Identifier: BSD-3-Clause
// Where the threads of a rank get text from, a chunk at a time.
#pragma once

#include <cstdint>
#include <string>

#include "kmer/fastx.hpp"

namespace weft_kmer {

struct text_chunk {
  std::string text;
  std::size_t own_bytes = 0;
  text_format format = text_format::fastq;
  bool at_line_begin = true;
  std::uint64_t records_before = 0;  ///< in the file; known for `stream_source` only

  [[nodiscard]] text_piece piece() const noexcept { return {text, own_bytes, format, at_line_begin}; }
};

enum class chunk_answer : std::uint8_t {
  chunk,  ///< here is one
  busy,   ///< another thread is taking one: do something useful and ask again
  end,    ///< there are no more
};

/// **Threads**: any number.
class chunk_source {
 public:
  virtual ~chunk_source() = default;

  /// Errors: job_error, with the record's number where that is known already.
  [[nodiscard]] virtual chunk_answer next(text_chunk& chunk) = 0;

  /// What to tell the user of a bad record in `chunk`, which is from this source.
  [[nodiscard]] virtual std::string explain(const text_chunk& chunk, const class record_error& error) const = 0;

  /// Bytes of the file behind the chunks given out so far.
  [[nodiscard]] virtual std::uint64_t bytes_consumed() const noexcept = 0;
};

}  // namespace weft_kmer
