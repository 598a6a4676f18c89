// SPDX-License-Identifier: BSD-3-Clause
// Plants bugs into the headers under test, one at a time, through their atomics, and sees that a program finds each.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "model/explorer.hpp"

namespace weft::model {

/// A bug that is known not to be found, and why that is right.
struct harmless {
  std::string label;
  bug kind;
  std::string why;
};

/// A check that is dropped: the load named `label` gives what `lie` says.
struct dropped_check {
  std::string label;
  std::uint64_t (*lie)(std::uint64_t actual, std::uint64_t previous);
};

/// A program and the search for it. A bug counts as found when one of the programs fails.
struct program {
  const char* name;
  std::function<void()> body;
  search how = {};
};

struct planting_report {
  bool right = false;  // every program holds as it is, every bug is found but for the harmless, which are not
  std::size_t planted = 0;
  std::uint64_t executions = 0;
  std::string text;  // what is not right; one line for each program
  std::string bugs;  // one line for each bug; printed where something is not right
};
std::ostream& operator<<(std::ostream& out, const planting_report& report);

/// Weakens each order, tears each read-modify-write and forces each compare-and-exchange in `files` (the ends of their
/// names), and drops `checks`.
[[nodiscard]] planting_report plant_bugs(const std::vector<program>& programs, const std::vector<std::string>& files,
                                         const std::vector<harmless>& tolerated = {},
                                         const std::vector<dropped_check>& checks = {});

[[nodiscard]] const char* name_of(bug kind);

}  // namespace weft::model
