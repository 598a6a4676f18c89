// weft-info: what this Weft is and how it is configured.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "base/config.hpp"
#include "weft/error.hpp"

namespace {

using namespace weft::base;

// A block for each variable: name, type, default, value here, meaning and what is allowed.
void print_config() {
  const settings here = parse_settings(::environ);
  for (const setting& row : setting_table()) {
    const std::string standard = row.show(row, settings{});
    const std::string value = row.show(row, here);
    fmt::print("{}  ({}; default {}; here {})\n    {}\n    allowed: {}\n", row.name, row.type,
               standard.empty() ? "unset" : standard, value.empty() ? "unset" : value, row.meaning,
               allowed_values(row));
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool config = false;
  CLI::App app{"Tells what this Weft is and how it is configured.", "weft-info"};
  app.add_flag("--config", config, "list every WEFT_* variable with type, default, value here, meaning and bounds");
  app.set_version_flag("--version", "weft-info 0.1.0");
  try {
    app.parse(argc, argv);
    if (!config) throw CLI::CallForHelp{};
    print_config();
    return 0;
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) return app.exit(problem);
    fmt::print(stderr, "weft-info: {} (see weft-info --help)\n", problem.what());
    return 2;
  } catch (const weft::error& problem) {
    fmt::print(stderr, "weft-info: {}\n", problem.what());
    return 2;
  }
}
