// SPDX-License-Identifier: BSD-3-Clause
// A file of reads as weft-kmer finds it, of any bytes; and its content, however it is cut into pieces.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "fuzz/input.hpp"
#include "kmer/input_error.hpp"
#include "kmer/input_file.hpp"
#include "kmer/range_source.hpp"
#include "kmer/stream_source.hpp"

namespace weft::fuzz {

class memory_file {
 public:
  explicit memory_file(std::string_view bytes) : fd_{::memfd_create("fuzz", MFD_CLOEXEC)} {
    require(fd_ >= 0 && ::write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "no file");
  }
  ~memory_file() { ::close(fd_); }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

/// Records, and how often each k-mer is there.
struct reads {
  std::uint64_t records = 0;
  std::map<std::string, std::uint64_t> kmers;

  friend bool operator==(const reads&, const reads&) = default;
};

/// Adds the reads of the pieces of `source` to `out`. False: the source reports a fault in them.
[[nodiscard]] inline bool read_all(weft_kmer::chunk_source& source, unsigned k, reads& out) {
  struct visitor {
    unsigned k;
    reads& out;
    std::string last = {};
    void begin_record() { last.clear(); }
    void bases(std::string_view letters) {
      for (const char letter : letters) {
        last += letter;
        if (last.size() < k) continue;
        ++out.kmers[last];
        last.erase(0, 1);
      }
    }
  };
  weft_kmer::text_chunk chunk;
  try {
    while (source.next(chunk) == weft_kmer::chunk_answer::chunk) {
      require(chunk.own_bytes <= chunk.text.size(), "a piece that is longer than its text");
      const std::string exact = chunk.text;  // in a block of its own
      const weft_kmer::text_piece piece{exact, chunk.own_bytes, chunk.format, chunk.at_line_begin};
      try {
        out.records += weft_kmer::parse(piece, k, visitor{k, out});
      } catch (const weft_kmer::record_error& problem) {
        require(!source.explain(chunk, problem).empty(), "an error without words");
        return false;
      }
    }
    return true;
  } catch (const weft_kmer::job_error& problem) {
    require(std::string_view{problem.what()}.size() > 10, "an error without words");
    return false;
  }
}

/// The content of the file when it is read in order.
[[nodiscard]] inline std::optional<reads> read_in_order(const std::string& path, unsigned k, std::size_t chunk_bytes) {
  reads out;
  weft_kmer::stream_source source{path, k, chunk_bytes};
  return read_all(source, k, out) ? std::optional{out} : std::nullopt;
}

/// The content that several ranks find that share it.
[[nodiscard]] inline std::optional<reads> read_in_parts(const weft_kmer::input_file& file, unsigned k,
                                                        std::size_t chunk_bytes, unsigned ranks) {
  reads out;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    for (const weft_kmer::input_range& range : weft_kmer::plan_ranges({file}, rank, ranks)) {
      weft_kmer::range_source source{file, range, k, chunk_bytes};
      if (!read_all(source, k, out)) return std::nullopt;
    }
  }
  return out;
}

}  // namespace weft::fuzz
