// SPDX-License-Identifier: BSD-3-Clause
// Which processors each rank may use, and how many threads it should have.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft_kmer {

/// The processors and the time that a process may use.
struct processor_limits {
  /// A limit of time by a control group, which all processes in the group share.
  struct quota {
    std::uint64_t device = 0;  ///< with `inode`: which group, on this machine
    std::uint64_t inode = 0;
    double processors = 0;
  };

  std::string machine;                    ///< empty where it can't be known
  std::vector<std::uint32_t> processors;  ///< by number, ascending
  std::vector<quota> quotas;
};

/// Those of this process: its affinity, and the groups that it is in.
[[nodiscard]] processor_limits find_processor_limits();

/// The part of the groups. `root`: before /proc and the mount points; other than "" for tests.
[[nodiscard]] std::vector<processor_limits::quota> find_quotas(const std::string& root);

/// As one line, and back.
[[nodiscard]] std::string to_text(const processor_limits& limits);
[[nodiscard]] processor_limits limits_in(const std::string& text);

/// The threads of each rank so that none is without a processor: one number for all, and at least one.
[[nodiscard]] unsigned threads_of_each(std::span<const processor_limits> by_rank);

}  // namespace weft_kmer
