// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/options.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "command_line.hpp"
#include "kmer/input_error.hpp"
#include "kmer/kmer.hpp"
#include "program_version.hpp"

namespace weft_kmer {

command_line read_command_line(int argc, const char* const* argv) {
  command_line line;
  count_options& count = line.count;
  bool quiet = false;
  weft::command_parser parser{"Counts the k-mers of sequencing reads, with all processes and threads that it is given.",
                              "weft-kmer", weft::version_of("weft-kmer")};
  weft::command_parser& command = parser.add_subcommand("count", "Counts the k-mers of FASTA and FASTQ files.");
  command.add_number("-k", count.k, 1U, k_max, "bases in a k-mer, 1 to " + std::to_string(k_max))
      .with_default(std::to_string(count.k));
  command.add_number("--threads", count.threads, 1, 1024,
                     "threads of each process (default: the processors that it may use)");
  command.add_flag("--strand", count.strand, "count a k-mer and its reverse complement apart");
  command.add_flag("--exact", count.exact, "one pass that keeps k-mers seen once (default: two passes with filters)");
  command.add_text("--counts", count.counts_path, "write each k-mer, a tab and its count to this file",
                   weft::check_not_empty);
  command.add_text("--histogram", count.histogram_path, "write how many k-mers have each count to this file",
                   weft::check_not_empty);
  command.add_number("--min-count", count.count_min, 1, ~std::uint64_t{0},
                     "leave k-mers seen less often out of the files");
  command.add_flag("--no-progress", quiet, "no progress bar, even on a terminal");
  command
      .add_texts("files", count.inputs, "FASTA or FASTQ, plain, gzip or bgzip; - is standard input",
                 weft::check_not_empty)
      .required();
  if (const auto answer = parser.parse(argc, argv)) {
    line.exit_code = answer->exit_code;
    line.text = answer->text;
  }
  count.show_progress = !quiet;
  return line;
}

void check_options(const count_options& options, unsigned ranks) {
  const auto stdins = std::count(options.inputs.begin(), options.inputs.end(), "-");
  if (stdins > 1) throw job_error{"standard input (-) can be read once only"};
  if (stdins == 1 && ranks > 1) {
    throw job_error{"standard input (-) can be read by one process only, and this job has " + std::to_string(ranks) +
                    ": give it a file, or run one process with more threads"};
  }
  if (!options.counts_path.empty() && options.counts_path == options.histogram_path) {
    throw job_error{options.counts_path + ": --counts and --histogram name the same file"};
  }
}

void check_threads(std::span<const rank_threads> by_rank) {
  constexpr unsigned named_max = 4;
  std::string others;
  unsigned differ = 0;
  for (std::size_t rank = 1; rank < by_rank.size(); ++rank) {
    if (by_rank[rank].wanted == by_rank[0].wanted || ++differ > named_max) continue;
    others += ", rank " + std::to_string(rank) + " has " + std::to_string(by_rank[rank].wanted);
  }
  if (differ > named_max) others += ", and " + std::to_string(differ - named_max) + " more differ";
  if (differ != 0) {
    throw job_error{"all ranks need the same number of threads, but rank 0 has " + std::to_string(by_rank[0].wanted) +
                    others + ": give all of them the same --threads"};
  }
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (by_rank[rank].wanted <= by_rank[rank].possible) continue;
    throw job_error{"--threads " + std::to_string(by_rank[rank].wanted) + ": at most " +
                    std::to_string(by_rank[rank].possible) + " on rank " + std::to_string(rank) +
                    " (WEFT_DEVICES_MAX sets it); more processes help"};
  }
}

}  // namespace weft_kmer
