#include <fmt/format.h>
#include <unistd.h>

#include <string>

#include "base/config.hpp"
#include "weft-info/info.hpp"

namespace weft::info {

void print_config() {
  using namespace weft::base;
  const settings here = parse_settings(::environ);
  for (const setting& row : setting_table()) {
    const std::string standard = row.show(row, settings{});
    const std::string value = row.show(row, here);
    fmt::print("{}  ({}; default {}; here {})\n    {}\n    allowed: {}\n", row.name, row.type,
               standard.empty() ? "unset" : standard, value.empty() ? "unset" : value, row.meaning,
               allowed_values(row));
  }
}

}  // namespace weft::info
