// SPDX-License-Identifier: BSD-3-Clause
// The user's choices.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft_kmer {

struct count_options {
  unsigned k = 31;
  unsigned threads = 0;  ///< of each rank; 0: as many as the processors that it may use
  bool strand = false;   ///< a k-mer and its reverse complement are two
  bool exact = false;    ///< one pass, which keeps the k-mers seen once
  bool show_progress = true;
  std::uint64_t count_min = 1;      ///< outputs leave out k-mers that were seen less often
  std::string counts_path = {};     ///< empty: not wanted
  std::string histogram_path = {};  ///< empty: not wanted
  std::vector<std::string> inputs = {};
};

struct command_line {
  count_options count;
  int exit_code = -1;  ///< not negative: there is nothing to do but to print `text` and to exit
  std::string text;
};

/// Understands the arguments of `weft-kmer`. Never exits or prints.
[[nodiscard]] command_line read_command_line(int argc, const char* const* argv);

/// Checks the options that depend on the job. Errors: job_error.
void check_options(const count_options& options, unsigned ranks);

/// The threads of a rank.
struct rank_threads {
  std::uint32_t wanted = 0;
  std::uint32_t possible = 0;
};

/// Checks that all ranks have equally many threads, and can have them. Errors: job_error.
void check_threads(std::span<const rank_threads> by_rank);

}  // namespace weft_kmer
