// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "base/config.hpp"
#include "net/transport_list.hpp"
#include "weft-info/info.hpp"

namespace weft::info {

void check_environment() { net::check_settings(base::process_settings()); }

void print_transports() {
  const auto all = net::available_transports();
  fmt::print("transports:");
  for (const auto& each : all) fmt::print(" {}", each.name);
  fmt::print("; sim: before a name simulates a bad network over it\n  WEFT_TRANSPORT={}\n",
             base::process_settings().transport);
  for (const auto& each : all) {
    for (const std::string& line : each.found) fmt::print("  {}: {}\n", each.name, line);
  }
}

}  // namespace weft::info
