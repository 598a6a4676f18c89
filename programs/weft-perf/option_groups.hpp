// SPDX-License-Identifier: BSD-3-Clause
// Options that several subcommands have.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "weft-perf/options.hpp"

namespace weft::perf {

/// Values that are parsed once all options are known.
struct texts {
  std::vector<std::string> sizes;
  std::string pieces;
  std::string layout;
  std::string transport;
  std::string provider;
};

inline const std::map<std::string, bench_options::pinning> pinnings{{"core", bench_options::pinning::core},
                                                                    {"none", bench_options::pinning::none}};

/// The form of figures, and rounds.
void add_common(command_parser& parser, options& out);
/// Adds the subcommands that hold Weft against other libraries, and what they start.
void add_comparisons(command_parser& parser, options& out, texts& text);

}  // namespace weft::perf
