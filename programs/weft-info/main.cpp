// weft-info: what this Weft is, what it finds on this machine, how it is configured, which way a message goes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "program_version.hpp"
#include "weft-info/info.hpp"
#include "weft/error.hpp"

namespace {

const std::string version = weft::version_of("weft-info");

[[noreturn]] void refuse_options(const std::string& why) {
  throw weft::error{weft::errc::invalid_argument, "--explain: " + why};
}

void run(bool config, const std::vector<std::string>& explain, std::optional<std::uint32_t> ranks) {
  using namespace weft::info;
  if (config) print_config();
  if (!explain.empty() && is_operation(explain[0])) {
    const bool has_bytes = explain.size() == 2;
    if (!has_bytes && explain[0] != "barrier") refuse_options(explain[0] + " needs a SIZE");
    print_collective_explanation(explain[0], has_bytes ? parse_size(explain[1]) : 0, ranks);
  } else if (!explain.empty()) {
    if (explain.size() != 2) refuse_options("a message needs a RANK and a SIZE");
    if (ranks) refuse_options("--ranks is for an operation, and not for a message");
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
  std::optional<std::uint32_t> ranks;
  CLI::App app{"Tells what this Weft is, what it finds on this machine, and how it is configured.", "weft-info"};
  app.add_flag("--config", config, "list every WEFT_* variable with type, default, value here, meaning and bounds");
  CLI::Option* const option =
      app.add_option(
             "--explain", explain,
             "in a job: which way a message of SIZE bytes from rank 0 to RANK goes, and why not another; or, with "
             "the name of an operation instead of RANK, which algorithm a collective takes, and what it costs")
          ->expected(1, 2)
          ->type_name("RANK|OPERATION SIZE");
  app.add_option("--ranks", ranks, "with --explain OPERATION: among so many ranks, and not those of the job")
      ->needs(option);
  app.set_version_flag("--version", version);
  try {
    app.parse(argc, argv);
    run(config, explain, ranks);
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
