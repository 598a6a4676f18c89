// SPDX-License-Identifier: BSD-3-Clause
// How many k-mers there are of each count, in the format of `jellyfish histo`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace weft_kmer {

class histogram {
 public:
  /// Higher counts than this one are all tallied under the next.
  static constexpr std::uint64_t count_max = 10000;

  histogram() : kmers_(count_max + 2) {}

  void add(std::uint64_t count) noexcept { ++kmers_[std::min(count, count_max + 1)]; }

  /// The tallies by count, from 0 on; ranks add theirs up.
  [[nodiscard]] std::vector<std::uint64_t>& tallies() noexcept { return kmers_; }

  /// Lines of a count and how many k-mers have it, for all counts that occur and are at least `count_min`.
  [[nodiscard]] std::string to_text(std::uint64_t count_min) const {
    std::string text;
    for (std::uint64_t count = std::max<std::uint64_t>(count_min, 1); count < kmers_.size(); ++count) {
      if (kmers_[count] != 0) text += std::to_string(count) + ' ' + std::to_string(kmers_[count]) + '\n';
    }
    return text;
  }

 private:
  std::vector<std::uint64_t> kmers_;
};

}  // namespace weft_kmer
