// SPDX-License-Identifier: BSD-3-Clause
// The input files: their kinds, and which rank reads which part of them.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kmer/fastx.hpp"

namespace weft_kmer {

enum class file_kind : std::uint8_t {
  uncompressed,  ///< can be read from anywhere
  bgzip,         ///< can be read from any block on
  gzip,          ///< has to be read from its beginning
  stream,        ///< a pipe or standard input: can be read once
};

struct input_file {
  std::string path;
  file_kind kind = file_kind::uncompressed;
  std::uint64_t bytes = 0;                  ///< of the file as it lies there; 0 for a stream
  text_format format = text_format::fastq;  ///< unknown for a stream
  std::uint64_t device = 0;                 ///< with `inode`: which file it is, on this machine
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;
};

/// The text "<path>: <what>", and "<path>: record <number>: <what>".
[[nodiscard]] std::string describe_error(const std::string& path, const std::string& problem);
[[nodiscard]] std::string describe_error(const std::string& path, std::uint64_t record, const std::string& problem);

/// Looks at a file. Errors: job_error for one that is missing, empty, a directory, or neither FASTA nor FASTQ.
[[nodiscard]] input_file examine_input(const std::string& path);

/// A change of the open file `fd` since `examine_input` saw it, for users; empty: none. Not for streams.
[[nodiscard]] std::string change_of(int fd, const input_file& file);

/// A hash of bytes from all parts of a file, all of its bytes if it is small. Errors: job_error.
[[nodiscard]] std::uint64_t sample_of(const input_file& file);

/// The status of a path, by `stat`; `-` is standard input. Returns: false where it fails, with errno.
[[nodiscard]] bool find_status(const std::string& path, struct stat& status) noexcept;

/// The format that text with this first letter has. Errors: stream_error where it has neither.
[[nodiscard]] text_format format_of(char first_letter);

/// Checks that no pipe or device is there twice. Errors: job_error.
void check_streams(const std::vector<input_file>& files);

/// The bytes from `begin` to `end` of a file: all of it, unless it can be split.
struct input_range {
  std::size_t file = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// The parts that `rank` reads: its part of each file that can be split, and whole ones so that ranks have about as
/// much to do. All ranks compute one plan. Streams are read by rank 0.
[[nodiscard]] std::vector<input_range> plan_ranges(const std::vector<input_file>& files, unsigned rank, unsigned ranks);

/// About how many k-mers a range has, judged by its file's first records.
[[nodiscard]] std::uint64_t estimate_kmers(const input_file& file, const input_range& range, unsigned k);

}  // namespace weft_kmer
