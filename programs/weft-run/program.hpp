// SPDX-License-Identifier: BSD-3-Clause
// The programs of a job: their ranks follow each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::run {

struct program {
  std::uint32_t ranks_end = 0;           ///< the first rank that belongs to no program up to this one
  std::vector<std::string> command;      ///< with its arguments
  std::vector<std::string> environment;  ///< NAME=VALUE, of its ranks alone
  std::string folder;                    ///< its working directory; empty: weft-run's own
  std::string path;                      ///< folders, separated by colons, in which it is looked for before PATH
};

/// The index of the program of a rank. The last program ends with the last rank.
[[nodiscard]] inline std::size_t program_index(const std::vector<program>& programs, std::uint32_t rank) {
  const auto found = std::ranges::upper_bound(programs, rank, {}, &program::ranks_end);
  return static_cast<std::size_t>(found - programs.begin());
}

}  // namespace weft::run
