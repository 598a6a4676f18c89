// SPDX-License-Identifier: BSD-3-Clause
// A rank's share of the input in one pass, handed out to its threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kmer/chunk_source.hpp"
#include "kmer/input_file.hpp"

namespace weft_kmer {

/// **Threads**: any number; each has a `cursor` of its own.
class reader {
 public:
  /// Which source a thread looks at first: the one that it had last. Begin with the thread's number.
  using cursor = std::size_t;

  /// Takes those of `ranges` for which `wanted` is true. Errors: job_error.
  template <typename Wanted>
  reader(const std::vector<input_file>& files, const std::vector<input_range>& ranges, unsigned k, Wanted&& wanted) {
    for (const input_range& range : ranges) {
      if (wanted(files[range.file])) add(files[range.file], range, k);
    }
  }

  struct result {
    chunk_answer answer;
    chunk_source* source = nullptr;  ///< of the chunk
  };

  /// The next chunk of any file. Errors: job_error.
  [[nodiscard]] result next(cursor& mine, text_chunk& chunk);

  [[nodiscard]] std::uint64_t bytes_consumed() const noexcept;

 private:
  void add(const input_file& file, const input_range& range, unsigned k);

  std::vector<std::unique_ptr<chunk_source>> sources_;
};

}  // namespace weft_kmer
