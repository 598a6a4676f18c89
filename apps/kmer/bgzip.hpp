// SPDX-License-Identifier: BSD-3-Clause
// Blocked gzip (BGZF, as written by bgzip): members of at most 64 KiB that say how long they are, so that one can begin
// in the middle of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kmer/gzip_inflater.hpp"
#include "kmer/text_window.hpp"

namespace weft_kmer {

inline constexpr std::size_t bgzip_header_bytes = 18;

/// The bytes of the block that begins with `head`, or 0 where no block does.
[[nodiscard]] std::size_t bgzip_block_bytes(std::span<const std::byte> head) noexcept;

/// Where the first block at or after `from` begins; `file_bytes` where none does. Errors: stream_error.
[[nodiscard]] std::uint64_t find_bgzip_block(int fd, std::uint64_t file_bytes, std::uint64_t from);

/// The text of a file from one block on.
class bgzip_window final : public text_window {
 public:
  bgzip_window(int fd, std::uint64_t file_bytes, std::uint64_t first_block);

  [[nodiscard]] bool extend() override;
  /// Where the first block begins that is not in the window.
  [[nodiscard]] std::uint64_t next_block() const noexcept { return next_block_; }

 private:
  int fd_;
  std::uint64_t file_bytes_;
  std::uint64_t next_block_;
  gzip_inflater inflater_;
  std::string compressed_;
  bool last_was_empty_ = false;  // as the marker at the end of a file is
};

}  // namespace weft_kmer
