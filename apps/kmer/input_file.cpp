#include "kmer/input_file.hpp"

#include <sys/stat.h>

#include <algorithm>
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

}  // namespace

input_file examine_input(const std::string& path) {
  input_file file{.path = path};
  struct stat status {};
  if ((path == "-" ? ::fstat(0, &status) : ::stat(path.c_str(), &status)) != 0) {
    throw job_error{describe_error(path, std::string{"cannot be read: "} + std::strerror(errno))};
  }
  if (S_ISDIR(status.st_mode)) throw job_error{describe_error(path, "is a directory, not a file of reads")};
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
