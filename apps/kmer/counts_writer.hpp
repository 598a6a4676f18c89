// SPDX-License-Identifier: BSD-3-Clause
// Writes the k-mers and their counts of all threads into one file, each thread its part, in the order of ranks.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kmer/exchange.hpp"
#include "kmer/histogram.hpp"
#include "kmer/kmer_partition.hpp"
#include "kmer/options.hpp"
#include "kmer/output_file.hpp"

namespace weft_kmer {

/// Adds up everybody's tallies. Collective.
inline void sum_tallies(endpoint& link, histogram& mine) {
  auto& tallies = mine.tallies();
  // Most of the higher tallies are zero everywhere, and need not be sent.
  const std::size_t slices = (tallies.size() + agreement_values_max - 1) / agreement_values_max;
  std::vector<std::uint64_t> used(slices);
  for (std::size_t i = 0; i < tallies.size(); ++i) used[i / agreement_values_max] |= tallies[i] != 0;
  link.sum(used);
  for (std::size_t slice = 0; slice < slices; ++slice) {
    const std::size_t begin = slice * agreement_values_max;
    if (used[slice] == 0) continue;
    link.sum(std::span{tallies}.subspan(begin, std::min(agreement_values_max, tallies.size() - begin)));
  }
}

/// A line: the k-mer's letters, a tab, the count.
inline std::size_t line_bytes(unsigned k, std::uint64_t count) noexcept {
  std::size_t digits = 1;
  for (; count >= 10; count /= 10) ++digits;
  return k + digits + 2;
}

template <typename Word>
void write_lines(const kmer_partition<Word>& partition, const count_options& options, output_part& part) {
  partition.for_each_counted([&](Word kmer, std::uint64_t count) {
    if (count < options.count_min) return;
    const std::size_t bytes = line_bytes(options.k, count);
    char* line = part.reserve(bytes);
    write_letters(kmer, options.k, line);
    line[options.k] = '\t';
    std::to_chars(line + options.k + 1, line + bytes - 1, count);
    line[bytes - 1] = '\n';
  });
  part.flush();
}

/// Collective. `suffix`: the output file's, at participant 0. `attempt` runs what may throw and keeps the failure.
template <typename Word, typename Attempt>
void write_counts(const kmer_partition<Word>& partition, const count_options& options, endpoint& link,
                  std::uint64_t suffix, Attempt&& attempt) {
  std::vector<std::uint64_t> bytes(link.participants() + 1);
  partition.for_each_counted([&](Word, std::uint64_t count) {
    if (count >= options.count_min) bytes[link.self()] += line_bytes(options.k, count);
  });
  bytes.back() = suffix;
  link.sum(bytes);
  suffix = bytes.back();
  std::uint64_t offset = 0;
  for (unsigned i = 0; i < link.self(); ++i) offset += bytes[i];
  const auto write_mine = [&] {
    output_part part{options.counts_path, suffix, offset};
    write_lines(partition, options, part);
  };
  if (suffix != 0) return attempt(write_mine);
  // A pipe or a device has no places in it: one after the other.
  for (unsigned writer = 0; writer < link.participants(); ++writer) {
    if (writer == link.self()) attempt(write_mine);
    (void)link.agree({});
  }
}

}  // namespace weft_kmer
