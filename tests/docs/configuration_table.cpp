// SPDX-License-Identifier: BSD-3-Clause
// Prints the table of settings, a line each, fields separated by tabs: name, type, default, least, most, multiple of,
// power of two, choices, whose, member, meaning. configuration_test.py compiles it together with src/base/config.cpp
// and collective_names.cpp.
#include <fmt/format.h>

#include <array>

#include "base/config.hpp"

constexpr std::array scope_names{"process", "rank", "job"};

int main() {
  const weft::base::settings defaults;
  for (const weft::base::setting& row : weft::base::setting_table()) {
    fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{:d}\t{}\t{}\t{}\t{}\n", row.name, row.type, row.show(row, defaults), row.least,
               row.most, row.multiple_of, row.power_of_two, fmt::join(row.names, " "),
               scope_names[static_cast<std::size_t>(row.scope)], weft::base::member_name(row), row.meaning);
  }
}
