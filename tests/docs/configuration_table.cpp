// Prints the table of WEFT_* variables, a line each, fields separated by tabs: name, type, default, least, most,
// multiple of, power of two, choices, meaning. configuration_test.py compiles it together with src/base/config.cpp.
#include <fmt/format.h>

#include "base/config.hpp"

int main() {
  const weft::base::settings defaults;
  for (const weft::base::setting& row : weft::base::setting_table()) {
    fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{:d}\t{}\t{}\n", row.name, row.type, row.show(row, defaults), row.least,
               row.most, row.multiple_of, row.power_of_two, fmt::join(row.names, " "), row.meaning);
  }
}
