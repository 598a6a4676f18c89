// SPDX-License-Identifier: BSD-3-Clause
// Files and reads for the tests of weft-kmer, and a count the slow way.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft_kmer::test {

using kmer_counts = std::unordered_map<std::string, std::uint64_t>;

/// A directory that is removed in the end.
class scratch_directory {
 public:
  scratch_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "kmer-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  ~scratch_directory() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }

  [[nodiscard]] std::string write(const std::string& name, std::string_view content) const {
    std::ofstream{path_ / name, std::ios::binary} << content;
    return path_ / name;
  }

  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{path_}, {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

inline std::string random_letters(std::mt19937_64& random, std::size_t count, std::string_view letters = "ACGT") {
  std::string text(count, 'A');
  for (char& letter : text) letter = letters[random() % letters.size()];
  return text;
}

/// One member of a gzip stream.
inline std::string gzip(std::string_view text, int level = 6) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string reverse_complement(std::string_view kmer) {
  std::string out{kmer.rbegin(), kmer.rend()};
  for (char& letter : out) letter = "TGCA"[std::string_view{"ACGT"}.find(letter)];
  return out;
}

/// Adds the canonical k-mers of a sequence in capital letters.
inline void count_slowly(kmer_counts& counts, std::string_view sequence, unsigned k) {
  for (std::size_t at = 0; at + k <= sequence.size(); ++at) {
    const std::string kmer{sequence.substr(at, k)};
    if (kmer.find_first_not_of("ACGT") == std::string::npos) ++counts[std::min(kmer, reverse_complement(kmer))];
  }
}

inline std::string to_fastq(const std::vector<std::string>& reads) {
  std::string text;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    // Quality lines begin with whatever a record could begin with.
    std::string quality(reads[i].size(), 'I');
    if (!quality.empty()) quality[0] = "@+I"[i % 3];
    text += "@read " + std::to_string(i) + '\n' + reads[i] + "\n+\n" + quality + '\n';
  }
  return text;
}

inline std::string to_fasta(const std::vector<std::string>& sequences, std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    text += ">sequence " + std::to_string(i) + '\n';
    for (std::size_t at = 0; at < sequences[i].size(); at += width) text += sequences[i].substr(at, width) + '\n';
  }
  return text;
}

}  // namespace weft_kmer::test
