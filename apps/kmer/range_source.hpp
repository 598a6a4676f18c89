// SPDX-License-Identifier: BSD-3-Clause
// Chunks of a part of a file that can be split, plain or bgzip. The threads share no more than a counter.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "kmer/byte_stream.hpp"
#include "kmer/chunk_source.hpp"
#include "kmer/input_file.hpp"
#include "kmer/text_window.hpp"

namespace weft_kmer {

class range_source final : public chunk_source {
 public:
  /// `chunk_bytes`: of the file. Errors: job_error where it can't be opened.
  range_source(input_file file, const input_range& range, unsigned k, std::size_t chunk_bytes = std::size_t{256} << 10);

  [[nodiscard]] chunk_answer next(text_chunk& chunk) override;
  /// Reads the file from its beginning in order to find the number of the bad record.
  [[nodiscard]] std::string explain(const text_chunk& chunk, const record_error& error) const override;
  [[nodiscard]] std::uint64_t bytes_consumed() const noexcept override;

 private:
  void cut_chunk(std::uint64_t begin, std::uint64_t end, text_chunk& chunk) const;
  [[nodiscard]] std::string explain(const std::string& fallback) const;

  input_file file_;
  input_range range_;
  unsigned k_;
  std::size_t chunk_bytes_;
  file_descriptor descriptor_;
  std::atomic<std::uint64_t> next_;
};

/// The first error that reading the whole file in order meets; empty where it meets none.
[[nodiscard]] std::string first_error(const std::string& path, unsigned k);

}  // namespace weft_kmer
