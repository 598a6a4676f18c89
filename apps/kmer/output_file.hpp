// SPDX-License-Identifier: BSD-3-Clause
// An output that is there as a whole or not at all: it is written beside its target under another name, and gets its
// own name in the end. A pipe, a device and a file that this process has open already (/dev/stdout) are written to
// directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kmer/byte_stream.hpp"
#include "kmer/output_target.hpp"

namespace weft_kmer {

/// Made by one thread of one rank for all.
class output_file {
 public:
  /// Errors: job_error where nothing can be written to `path`.
  explicit output_file(const std::string& path);
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  /// Removes the file, unless it has been committed.
  ~output_file();

  /// The number in the name under which other processes find the unfinished file; 0: the target is written to directly.
  [[nodiscard]] std::uint64_t suffix() const noexcept { return suffix_; }

  void write(std::string_view text);
  /// Gives the file its name. Errors: job_error.
  void commit();

 private:
  void create();

  std::string path_;
  output_target target_;
  std::uint64_t suffix_ = 0;
  std::string written_path_;
  file_descriptor file_;
  bool committed_ = false;
};

/// Checks that this process finds the output that `output_file` makes in another one. Errors: job_error.
void check_output_part(const std::string& path, std::uint64_t suffix);

/// A part of an output file, written by any thread of any rank. Buffered.
class output_part {
 public:
  /// `suffix`: of the output file; where it is 0 the parts have to be written one after the other.
  output_part(const std::string& path, std::uint64_t suffix, std::uint64_t offset);

  /// Room for so many bytes, to be filled. Errors: job_error.
  [[nodiscard]] char* reserve(std::size_t bytes);
  void flush();

 private:
  std::string path_;
  bool direct_;
  std::uint64_t offset_;
  std::string buffer_;
  file_descriptor file_;
};

}  // namespace weft_kmer
