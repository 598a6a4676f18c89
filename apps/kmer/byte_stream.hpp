// SPDX-License-Identifier: BSD-3-Clause
// Text that comes one piece after the other from a file, a pipe or standard input, plain or compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kmer/gzip_inflater.hpp"

namespace weft_kmer {

/// A file descriptor that is closed in the end.
class file_descriptor {
 public:
  explicit file_descriptor(int fd = -1) noexcept : fd_{fd} {}
  file_descriptor(file_descriptor&& other) noexcept;
  file_descriptor& operator=(file_descriptor&& other) noexcept;
  ~file_descriptor();

  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

/// Opens a file for reading; `-` is standard input. Errors: stream_error.
[[nodiscard]] file_descriptor open_for_reading(const std::string& path);

/// Reads until `out` is full or the file ends. Errors: stream_error.
[[nodiscard]] std::size_t read_fully(int fd, std::span<std::byte> out);
[[nodiscard]] std::size_t read_fully_at(int fd, std::span<std::byte> out, std::uint64_t offset);

class byte_stream {
 public:
  /// Errors: stream_error where it can't be opened.
  explicit byte_stream(const std::string& path);

  /// The next text, as much as fits. Returns: how much; less than fits only at the end.
  /// Errors: stream_error, by and large after all text before the damage has been returned.
  [[nodiscard]] std::size_t read(std::span<char> text);

  /// Bytes of the file that the text so far took, compressed ones where it is compressed.
  [[nodiscard]] std::uint64_t bytes_consumed() const noexcept;

  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }

 private:
  [[nodiscard]] bool refill();
  [[nodiscard]] std::size_t read_uncompressed(std::span<char> text);
  [[nodiscard]] std::size_t read_gzip(std::span<char> text);

  file_descriptor file_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;  // of what is unread in the buffer; unused for gzip
  std::size_t end_ = 0;
  std::uint64_t bytes_read_ = 0;
  std::unique_ptr<gzip_inflater> inflater_;  // null: plain
  std::optional<std::string> failure_;       // to be thrown at the next call
};

}  // namespace weft_kmer
