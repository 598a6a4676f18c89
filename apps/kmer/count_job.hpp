// SPDX-License-Identifier: BSD-3-Clause
// The job of a rank: its threads read, send, serve and count; then the outputs are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kmer/exchange.hpp"
#include "kmer/input_file.hpp"
#include "kmer/options.hpp"

namespace weft_kmer {

/// The counts of one thread.
struct thread_report {
  std::uint64_t reads = 0;        ///< records that begin in its parts of the input
  std::uint64_t kmers = 0;        ///< in those, in one pass
  std::uint64_t distinct = 0;     ///< k-mers in its table
  std::uint64_t occurrences = 0;  ///< of those, all together
  std::uint64_t seen_once = 0;    ///< of those, k-mers that occur once
  std::uint64_t served = 0;       ///< k-mers that it received as their owner, in all passes
  std::uint64_t messages = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t memory_peak = 0;      ///< of its process, in bytes
  std::uint64_t time_ns = 0;          ///< from the job's start to its end
  std::uint64_t strange_letters = 0;  ///< of sequences in its parts, that no nucleic acid has
  std::uint64_t strange_letter = 0;   ///< the first of them
};

struct job_report {
  std::vector<thread_report> threads;  ///< by rank, then by thread; at rank 0 only
  unsigned threads_per_rank = 0;
};

/// Counts. Collective over the ranks, whose options agree.
/// Returns: nothing where the job failed; rank 0 has then printed the reason on standard error.
[[nodiscard]] std::optional<job_report> run_count_job(exchange& link, const count_options& options);

}  // namespace weft_kmer
