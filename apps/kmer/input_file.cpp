// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/input_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>

#include "kmer/bgzip.hpp"
#include "kmer/byte_stream.hpp"
#include "kmer/input_error.hpp"
#include "kmer/stream_source.hpp"

namespace weft_kmer {

std::string describe_error(const std::string& path, const std::string& problem) {
  return (path == "-" ? "standard input" : path) + ": " + problem;
}

std::string describe_error(const std::string& path, std::uint64_t record, const std::string& problem) {
  return describe_error(path, "record " + std::to_string(record) + ": " + problem);
}

text_format format_of(char first_letter) {
  if (first_letter == '>') return text_format::fasta;
  if (first_letter == '@') return text_format::fastq;
  throw stream_error{"is neither FASTA nor FASTQ: it has to begin with '>' or '@'"};
}

namespace {

file_kind kind_of(const std::string& path) {
  const file_descriptor file = open_for_reading(path);
  std::byte head[bgzip_header_bytes];
  const std::size_t got = read_fully(file.get(), head);
  if (got < 2 || head[0] != std::byte{0x1f} || head[1] != std::byte{0x8b}) return file_kind::uncompressed;
  return bgzip_block_bytes({head, got}) != 0 ? file_kind::bgzip : file_kind::gzip;
}

std::int64_t modified_ns(const struct stat& status) noexcept {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace

bool find_status(const std::string& path, struct stat& status) noexcept {
  return (path == "-" ? ::fstat(0, &status) : ::stat(path.c_str(), &status)) == 0;
}

std::string change_of(int fd, const input_file& file) {
  struct stat now {};
  if (::fstat(fd, &now) != 0) return std::string{"cannot be read: "} + std::strerror(errno);
  std::string change;
  if (now.st_dev != file.device || now.st_ino != file.inode) {
    change = "another file has taken its place";
  } else if (static_cast<std::uint64_t>(now.st_size) != file.bytes) {
    change = "it had " + std::to_string(file.bytes) + " bytes, and now has " + std::to_string(now.st_size);
  } else if (modified_ns(now) != file.modified_ns) {
    change = "it was written to";
  }
  return change.empty() ? change : "was changed since the job began: " + change;
}

// Two files with the same name and size mostly differ near their beginning or end; reads that were sorted, or corrected
// later, anywhere.
std::uint64_t sample_of(const input_file& file) {
  constexpr std::uint64_t blocks = 16;
  std::array<std::byte, 4096> bytes;
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  try {
    const file_descriptor descriptor = open_for_reading(file.path);
    const std::uint64_t last = file.bytes - std::min<std::uint64_t>(file.bytes, bytes.size());
    const bool is_small = last <= (blocks - 1) * bytes.size();
    for (std::uint64_t block = 0; block < blocks; ++block) {
      const std::uint64_t at = is_small ? block * bytes.size() : last / (blocks - 1) * block;
      const std::size_t got = read_fully_at(descriptor.get(), bytes, block + 1 == blocks ? std::max(at, last) : at);
      for (std::size_t i = 0; i < got; ++i) hash = (hash ^ std::to_integer<std::uint64_t>(bytes[i])) * 0x100000001b3ULL;
    }
  } catch (const stream_error& e) {
    throw job_error{describe_error(file.path, e.what())};
  }
  return hash;
}

input_file examine_input(const std::string& path) {
  input_file file{.path = path};
  struct stat status {};
  if (!find_status(path, status)) {
    throw job_error{describe_error(path, std::string{"cannot be read: "} + std::strerror(errno))};
  }
  if (S_ISDIR(status.st_mode)) throw job_error{describe_error(path, "is a directory, not a file of reads")};
  file.device = status.st_dev;
  file.inode = status.st_ino;
  file.modified_ns = modified_ns(status);
  if (path == "-" || !S_ISREG(status.st_mode)) {
    file.kind = file_kind::stream;
    return file;
  }
  file.bytes = static_cast<std::uint64_t>(status.st_size);
  if (file.bytes == 0) throw job_error{describe_error(path, "is empty")};
  try {
    file.kind = kind_of(path);
    byte_stream text{path};
    char first = 0;
    if (text.read({&first, 1}) == 0) throw stream_error{"is empty"};
    file.format = format_of(first);
  } catch (const stream_error& e) {
    throw job_error{describe_error(path, e.what())};
  }
  return file;
}

void check_streams(const std::vector<input_file>& files) {
  for (auto file = files.begin(); file != files.end(); ++file) {
    if (file->kind != file_kind::stream) continue;
    const auto twin = std::find_if(files.begin(), file, [&](const input_file& earlier) {
      return earlier.kind == file_kind::stream && earlier.device == file->device && earlier.inode == file->inode;
    });
    if (twin == file) continue;
    throw job_error{
        describe_error(file->path, "is the same pipe or device as " + twin->path + ", and can be read once")};
  }
}

std::vector<input_range> plan_ranges(const std::vector<input_file>& files, unsigned rank, unsigned ranks) {
  std::vector<input_range> mine;
  std::vector<std::size_t> whole;  // to be dealt
  for (std::size_t i = 0; i < files.size(); ++i) {
    const input_file& file = files[i];
    if (file.kind == file_kind::stream) {
      if (rank == 0) mine.push_back({i, 0, 0});
    } else if (file.kind == file_kind::gzip) {
      whole.push_back(i);
    } else {
      const std::uint64_t begin = file.bytes * rank / ranks;
      const std::uint64_t end = file.bytes * (rank + 1) / ranks;
      if (begin < end) mine.push_back({i, begin, end});
    }
  }
  // The largest first, each to the rank that has the least so far.
  std::stable_sort(whole.begin(), whole.end(), [&](auto a, auto b) { return files[a].bytes > files[b].bytes; });
  std::vector<std::uint64_t> dealt(ranks);
  for (const std::size_t i : whole) {
    const auto least = std::min_element(dealt.begin(), dealt.end());
    *least += files[i].bytes;
    if (least - dealt.begin() == static_cast<std::ptrdiff_t>(rank)) mine.push_back({i, 0, files[i].bytes});
  }
  return mine;
}

namespace {

// Counts letters and k-mers as if all letters were bases.
struct kmer_tally {
  unsigned k;
  std::uint64_t run = 0;
  std::uint64_t kmers = 0;

  void begin_record() noexcept { run = 0; }
  void bases(std::string_view letters) noexcept {
    const std::uint64_t before = run < k ? 0 : run - k + 1;
    run += letters.size();
    kmers += (run < k ? 0 : run - k + 1) - before;
  }
};

}  // namespace

std::uint64_t estimate_kmers(const input_file& file, const input_range& range, unsigned k) {
  try {
    stream_source first{file.path, k};
    text_chunk chunk;
    if (first.next(chunk) != chunk_answer::chunk) return 0;
    kmer_tally tally{.k = k};
    parse(chunk.piece(), k, tally);
    const double text_bytes = static_cast<double>(chunk.own_bytes + first.text_bytes_pending());
    const double kmers = static_cast<double>(tally.kmers) * text_bytes / static_cast<double>(chunk.own_bytes);
    const double range_to_read =
        static_cast<double>(range.end - range.begin) / static_cast<double>(first.bytes_consumed());
    return static_cast<std::uint64_t>(kmers * range_to_read);
  } catch (const std::runtime_error&) {
    return 0;  // the pass that counts will say what is wrong, and where
  }
}

}  // namespace weft_kmer
