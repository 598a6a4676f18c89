// Options that several subcommands have. Includes CLI11, so that only the sources of the command line include this.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

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

/// An option with a few values that have names: help and refusals say them.
template <class Out, class Value>
CLI::Option* add_choice(CLI::App& to, const std::string& name, Out& out, const std::map<std::string, Value>& values,
                        const std::string& description) {
  return to
      .add_option_function<std::string>(
          name, [&](const std::string& chosen) { out = values.at(chosen); }, description)
      ->check(CLI::IsMember(values));
}

/// The form of figures, and rounds.
void add_common(CLI::App& to, options& out);
/// Adds the subcommands that hold Weft against other libraries, and what they start.
void add_comparisons(CLI::App& app, options& out, texts& text);

}  // namespace weft::perf
