// SPDX-License-Identifier: BSD-3-Clause
// The state that the threads of a rank share while they count.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kmer/count_job.hpp"
#include "kmer/kmer.hpp"
#include "kmer/reader.hpp"

namespace weft_kmer {

struct shared_job {
  /// Looks at the inputs, and compares them with rank 0's. A fault goes to `failure`, for the ranks to agree on.
  /// Collective over the ranks.
  shared_job(exchange& link, const count_options& wanted);

  /// A problem that other ranks may not have.
  [[nodiscard]] std::string on_this_rank(const std::string& problem) const;

  exchange* link;
  const count_options* options;
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  std::string failure;  ///< before any thread started
  std::vector<input_file> files;
  std::vector<input_range> ranges;
  std::uint64_t range_bytes = 0;     ///< of this rank, in one pass
  std::uint64_t job_bytes = 0;       ///< of all ranks, in all passes
  std::uint64_t kmers_expected = 0;  ///< in this rank's share, streams left out
  std::unique_ptr<reader> spooled;   ///< streams that several passes need
  std::vector<std::unique_ptr<reader>> passes;

  job_report report;           ///< at rank 0, filled by its first thread
  std::string failure_agreed;  ///< likewise; empty: none

 private:
  void attempt(const std::function<void()>& act);
  void examine_inputs();
  void compare_with_rank_0();
  void make_readers();
};

/// The main function of each thread. `Word` holds a k-mer. Returns: whether all went well everywhere.
template <typename Word>
[[nodiscard]] bool count_with(shared_job& job, unsigned thread);

extern template bool count_with<narrow>(shared_job&, unsigned);
extern template bool count_with<wide>(shared_job&, unsigned);

}  // namespace weft_kmer
