// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft_kmer {

namespace {

std::string bytes_text(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} KiB", value / 1024);
  if (value < 10e9) return fmt::format("{:.1f} MiB", value / 1024 / 1024);
  return fmt::format("{:.1f} GiB", value / 1024 / 1024 / 1024);
}

}  // namespace

std::string summary_of(const job_report& report, const count_options& options) {
  thread_report all;
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < report.threads.size(); ++i) {
    const thread_report& one = report.threads[i];
    all.reads += one.reads;
    all.kmers += one.kmers;
    all.distinct += one.distinct;
    all.occurrences += one.occurrences;
    all.seen_once += one.seen_once;
    all.messages += one.messages;
    all.message_bytes += one.message_bytes;
    all.time_ns = std::max(all.time_ns, one.time_ns);
    largest = std::max(largest, one.memory_peak);
    if (i % report.threads_per_rank == 0) all.memory_peak += one.memory_peak;
  }
  if (!options.exact) {
    // The table has those seen again, with all their occurrences: each of the other occurrences is a k-mer of its own.
    all.seen_once = all.kmers - all.occurrences;
    all.distinct += all.seen_once;
  }
  const double seconds = static_cast<double>(all.time_ns) / 1e9;
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<20} {}\n", name, value);
  };
  line("reads", std::to_string(all.reads));
  line("k-mers", fmt::format("{} (k = {}, {})", all.kmers, options.k, options.strand ? "one strand" : "canonical"));
  line("distinct", std::to_string(all.distinct));
  line("seen once", std::to_string(all.seen_once));
  line("time", fmt::format("{:.3f} s", seconds));
  line("k-mers per second",
       fmt::format("{:.2f} million", static_cast<double>(all.kmers) / 1e6 / std::max(seconds, 1e-9)));
  line("messages", std::to_string(all.messages));
  line("bytes sent", bytes_text(all.message_bytes));
  line("peak memory", fmt::format("{} in {} process{}, {} in the largest", bytes_text(all.memory_peak),
                                  report.threads.size() / report.threads_per_rank,
                                  report.threads.size() == report.threads_per_rank ? "" : "es", bytes_text(largest)));
  for (std::size_t i = 0; i < report.threads.size(); ++i) {
    const thread_report& one = report.threads[i];
    text += fmt::format("rank {} thread {}: read {} k-mers, served {}\n", i / report.threads_per_rank,
                        i % report.threads_per_rank, one.kmers, one.served);
  }
  return text;
}

std::string warnings_of(const job_report& report, const count_options& options) {
  thread_report all;
  for (const thread_report& one : report.threads) {
    if (all.strange_letters == 0) all.strange_letter = one.strange_letter;
    all.reads += one.reads;
    all.kmers += one.kmers;
    all.strange_letters += one.strange_letters;
  }
  std::string text;
  if (all.kmers == 0) {
    text += fmt::format(
        "weft-kmer: warning: {} record{}, and no k-mer: no {} letters in a row (-k) are all of A, C, G, T and U\n",
        all.reads, all.reads == 1 ? "" : "s", options.k);
  }
  if (all.strange_letters != 0) {
    const auto letter = static_cast<char>(all.strange_letter);
    const bool is_amino = std::string_view{"EFIJLOPQZefijlopqz"}.find(letter) != std::string_view::npos;
    const bool can_be_shown = letter >= ' ' && letter <= '~';
    // Where the input is cut within a sequence, letters at the cut are there for both pieces.
    text += fmt::format("weft-kmer: warning: about {} letters of the sequences are of no nucleic acid, as {}{}\n",
                        all.strange_letters,
                        can_be_shown ? fmt::format("'{}'", letter) : fmt::format("byte {}", all.strange_letter),
                        is_amino ? ": are these proteins?" : ", and no k-mer has them");
  }
  return text;
}

}  // namespace weft_kmer
