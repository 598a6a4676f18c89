// SPDX-License-Identifier: BSD-3-Clause
// Chunks of a file that has to be read from its beginning. The threads take turns: one at a time reads, inflates and
// cuts the next chunk; then it parses and sends while another takes its turn.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "kmer/byte_stream.hpp"
#include "kmer/chunk_source.hpp"
#include "kmer/input_file.hpp"
#include "kmer/text_window.hpp"

namespace weft_kmer {

class stream_source final : public chunk_source, private text_window {
 public:
  static constexpr std::size_t chunk_bytes_usual = std::size_t{256} << 10;

  /// The file is opened by the first `next`. `chunk_bytes`: of text.
  stream_source(std::string path, unsigned k, std::size_t chunk_bytes = chunk_bytes_usual);
  /// Of a file that may not change meanwhile.
  stream_source(const input_file& file, unsigned k);

  [[nodiscard]] chunk_answer next(text_chunk& chunk) override;
  [[nodiscard]] std::string explain(const text_chunk& chunk, const record_error& error) const override;
  [[nodiscard]] std::uint64_t bytes_consumed() const noexcept override {
    return bytes_consumed_.load(std::memory_order_relaxed);  // [stat]
  }
  /// Text that has been read for the next chunk. Not while another thread calls `next`.
  [[nodiscard]] std::size_t text_bytes_pending() const noexcept { return text_.size(); }

 private:
  [[nodiscard]] bool extend() override;
  void open();
  void cut_chunk(text_chunk& chunk);
  /// What has happened to the file since it was examined; empty: nothing.
  [[nodiscard]] std::string change() const;
  [[nodiscard]] std::uint64_t records_in(std::string_view text) const noexcept;

  const std::string path_;
  const std::optional<input_file> file_;  // none: its end is wherever it ends
  const unsigned k_;
  const std::size_t chunk_bytes_ = chunk_bytes_usual;
  std::mutex mutex_;
  std::optional<byte_stream> stream_;
  text_format format_ = text_format::fastq;
  bool at_line_begin_ = true;
  std::uint64_t records_before_ = 0;
  bool ended_ = false;
  std::atomic<std::uint64_t> bytes_consumed_{0};
};

}  // namespace weft_kmer
