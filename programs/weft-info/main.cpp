// weft-info: what this Weft is, what it finds on this machine, how it is configured, which way a message goes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "program_version.hpp"
#include "weft-info/info.hpp"
#include "weft/error.hpp"

namespace {

const std::string version = weft::version_of("weft-info");

void run(bool config, const std::vector<std::string>& explain) {
  using namespace weft::info;
  if (config) print_config();
  if (!explain.empty()) {
    const std::uint64_t rank = parse_size(explain[0]);
    print_explanation(static_cast<std::uint32_t>(std::min<std::uint64_t>(rank, ~0U)), parse_size(explain[1]));
  }
  if (config || !explain.empty()) return;
  fmt::print("{}\n", version);
  print_transports();
  print_topology();
}

}  // namespace

int main(int argc, char** argv) {
  bool config = false;
  std::vector<std::string> explain;
  CLI::App app{"Tells what this Weft is, what it finds on this machine, and how it is configured.", "weft-info"};
  app.add_flag("--config", config, "list every WEFT_* variable with type, default, value here, meaning and bounds");
  app.add_option("--explain", explain,
                 "in a job: which way a message of SIZE bytes from rank 0 to RANK goes, and why not another")
      ->expected(2)
      ->type_name("RANK SIZE");
  app.set_version_flag("--version", version);
  try {
    app.parse(argc, argv);
    run(config, explain);
    return 0;
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) return app.exit(problem);
    fmt::print(stderr, "weft-info: {} (see weft-info --help)\n", problem.what());
    return 2;
  } catch (const weft::error& problem) {
    fmt::print(stderr, "weft-info: {}\n", problem.what());
    return problem.code() == weft::errc::configuration || problem.code() == weft::errc::invalid_argument ? 2 : 1;
  }
}
