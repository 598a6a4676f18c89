// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <unistd.h>

#include <string>

#include "base/config.hpp"
#include "weft-info/info.hpp"

namespace weft::info {

namespace {

std::string owner_of(const base::setting& row) {
  if (row.scope == base::setting_scope::process) return "of the process";
  return fmt::format("of a runtime: runtime_options::{}{}", base::member_name(row),
                     row.scope == base::setting_scope::job ? "; all ranks must give the same" : "");
}

}  // namespace

void print_config() {
  using namespace weft::base;
  const settings here = parse_settings(::environ);
  for (const setting& row : setting_table()) {
    const std::string standard = row.show(row, settings{});
    const std::string value = row.show(row, here);
    fmt::print("{}  ({}; default {}; here {})\n    {}\n    allowed: {}\n    {}\n", row.name, row.type,
               standard.empty() ? "unset" : standard, value.empty() ? "unset" : value, row.meaning, allowed_values(row),
               owner_of(row));
  }
}

}  // namespace weft::info
