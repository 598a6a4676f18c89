// SPDX-License-Identifier: BSD-3-Clause
// A rank's view of the job: its options, and the files behind the names of the inputs. Ranks whose view differs from
// rank 0's would count a part of the reads, or reads of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kmer/input_file.hpp"
#include "kmer/options.hpp"

namespace weft_kmer {

/// Which machine, and which of its trees of files, a process is on; empty where it can't be known.
struct file_tree {
  std::string machine;
  std::string mounts;
};
[[nodiscard]] file_tree find_file_tree();

struct job_view {
  struct file {
    file_kind kind = file_kind::uncompressed;
    text_format format = text_format::fastq;
    std::uint64_t bytes = 0;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t sample = 0;  ///< of its content
  };

  file_tree where;
  std::vector<std::string> options;        ///< as texts, in one order
  std::optional<std::vector<file>> files;  ///< none: this rank can't read them all
};

/// Errors: job_error where a file can't be read.
[[nodiscard]] job_view view_of(const count_options& options, const std::vector<input_file>& files);

/// As one text, and back.
[[nodiscard]] std::string to_text(const job_view& view);
[[nodiscard]] job_view view_in(const std::string& text);

/// Why this rank can't take part in rank 0's job; empty: it can. `inputs`: this rank's names.
[[nodiscard]] std::string difference_from(const job_view& rank_0, const job_view& mine, unsigned rank,
                                          const std::vector<std::string>& inputs);

}  // namespace weft_kmer
