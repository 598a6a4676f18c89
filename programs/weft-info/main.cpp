// SPDX-License-Identifier: BSD-3-Clause
// weft-info: what this Weft is, what it finds on this machine, how it is configured, which way a message goes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "command_line.hpp"
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
  if (explain.empty()) check_environment();
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
  weft::command_parser parser{"Tells what this Weft is, what it finds on this machine, and how it is configured.",
                              "weft-info", version};
  parser.add_flag("--config", config, "list every WEFT_* variable with type, default, value here, meaning and bounds");
  const weft::command_option option = parser.add_texts(
      "--explain", explain,
      "in a job: which way a message of SIZE bytes from rank 0 to RANK goes, and why not another; or, with "
      "the name of an operation instead of RANK, which algorithm a collective takes, and what it costs");
  option.values(1, 2).shown_as("RANK|OPERATION SIZE");
  parser
      .add_number("--ranks", ranks, 0, std::numeric_limits<std::uint32_t>::max(),
                  "with --explain OPERATION: among so many ranks, and not those of the job")
      .needs(option);
  if (const auto answer = parser.parse(argc, argv)) {
    if (answer->mistake.empty())
      fmt::print("{}", answer->text);
    else
      fmt::print(stderr, "weft-info: {} (see weft-info --help)\n", answer->mistake);
    return answer->exit_code;
  }
  try {
    run(config, explain, ranks);
    return 0;
  } catch (const weft::error& problem) {
    fmt::print(stderr, "weft-info: {}\n", problem.what());
    return problem.code() == weft::errc::configuration || problem.code() == weft::errc::invalid_argument ? 2 : 1;
  }
}
