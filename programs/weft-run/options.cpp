// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <utility>

#include "command_line.hpp"
#include "program_version.hpp"

namespace weft::run {
namespace {

std::string check_assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0) return {};
  return "'" + text + "' is not of the form NAME=VALUE";
}

std::string check_bind(const std::string& text) {
  if (parse_bind(text)) return {};
  return "'" + text + "' is not auto, none, hwthread, core, socket or numa, or one of these and a count as in core:2";
}

// `drawn`, or a number from 1 on.
std::optional<std::uint64_t> parse_seed(const std::string& text) {
  if (text == "drawn") return 0;
  std::uint64_t out = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (problem != std::errc{} || end != text.data() + text.size() || out == 0) return std::nullopt;
  return out;
}

}  // namespace

namespace {

// The number of ranks in the words of other launchers (-np 2, --np=2, -N 2, -n=2), among the options before the
// program: how it is given here. Nothing where another argument is the first that is wrong.
std::optional<std::string> count_of_ranks_elsewhere(int argc, char** argv) {
  static constexpr std::array<std::string_view, 9> with_value{"-n",        "--ranks", "-x",       "--env",   "--bind",
                                                              "--timeout", "--grace", "--notice", "--linger"};
  static constexpr std::array<std::string_view, 7> flags{"--prefix", "-q",    "--quiet",  "-h",
                                                         "--help",   "--mpi", "--version"};
  static constexpr std::array<std::string_view, 7> others{"np", "n", "N", "ranks", "nprocs", "nranks", "ntasks"};
  const auto is_in = [](const auto& list, std::string_view text) {
    return std::find(list.begin(), list.end(), text) != list.end();
  };
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
  };
  for (int i = 1; i < argc && argv[i][0] == '-'; ++i) {
    const std::string_view argument = argv[i];
    const std::string_view until_value = argument.substr(0, argument.find('='));
    const bool is_long = argument.starts_with("--");
    if (is_in(with_value, argument)) {
      ++i;
      continue;
    }
    if (is_in(flags, argument) || (is_long && is_in(with_value, until_value)) || argument.starts_with("-x") ||
        (argument.starts_with("-n") && is_number(argument.substr(2)))) {
      continue;
    }
    const std::size_t begin = is_long ? 2 : 1;
    const std::size_t end = std::min(argument.find_first_of("=0123456789", begin), argument.size());
    if (!is_in(others, argument.substr(begin, end - begin))) return std::nullopt;
    std::string_view value = argument.substr(end);
    if (value.starts_with('=')) value.remove_prefix(1);
    if (value.empty() && i + 1 < argc) value = argv[i + 1];
    return fmt::format("'{}' is no option; say -n {}", argument, is_number(value) ? value : "N");
  }
  return std::nullopt;
}

std::optional<options> refuse(const std::string& text, int& exit_code) {
  std::fprintf(stderr, "weft-run: %s (see weft-run --help)\n", text.c_str());
  exit_code = exit_usage;
  return std::nullopt;
}

}  // namespace

std::optional<bind_rule> parse_bind(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  bind_rule rule;
  if (name == "auto")
    rule.object = bind_object::portion;
  else if (name == "none")
    rule.object = bind_object::none;
  else if (name == "hwthread")
    rule.object = bind_object::hwthread;
  else if (name == "core")
    rule.object = bind_object::core;
  else if (name == "socket")
    rule.object = bind_object::socket;
  else if (name == "numa")
    rule.object = bind_object::numa;
  else
    return std::nullopt;
  if (colon != std::string::npos) {
    const std::string count = text.substr(colon + 1);
    if (count.empty() || count.size() > 4 || count.find_first_not_of("0123456789") != std::string::npos) {
      return std::nullopt;
    }
    rule.each = static_cast<std::uint32_t>(std::stoul(count));
    if (rule.each == 0 || rule.object == bind_object::none || rule.object == bind_object::portion) return std::nullopt;
  }
  return rule;
}

std::optional<options> parse_options(int argc, char** argv, int& exit_code) {
  options result;
  std::string bind = "auto";
  std::string sim;
  command_parser parser{
      "Starts a program as several ranks on this machine.\n"
      "The job ends with the first rank that fails, and with its exit code.",
      "weft-run", version_of("weft-run")};
  parser.set_usage("Usage: weft-run -n N [options] program [arguments...]\n");
  parser.add_number("-n,--ranks", result.ranks, 1, ranks_max, "how many processes to start").required().shown_as("N");
  parser.add_flag("--prefix", result.prefix, "put the rank in front of every line of output");
  parser
      .add_text(
          "--bind", bind,
          "pin each rank: auto (its share of the cores, the default), none, hwthread, core, socket, numa; core:2 is "
          "two cores each",
          check_bind)
      .shown_as("WHAT");
  parser.add_number("--timeout", result.timeout_s, 0.001, 1e9, "end the job after so many seconds (exit code 124)")
      .shown_as("SECONDS");
  parser.add_number("--grace", result.grace_s, 0.0, 1e6, "between asking ranks to end and killing them (5)")
      .shown_as("SECONDS");
  parser
      .add_number("--notice", result.notice_s, 0.0, 1e9,
                  "say which ranks still run when no other has ended for so long; 0 says nothing (60)")
      .shown_as("SECONDS");
  parser
      .add_number("--linger", result.linger_s, 0.001, 1e9,
                  "end the job when ranks still run and no other has ended for so long (exit code 124)")
      .shown_as("SECONDS");
  parser
      .add_repeated("-x,--env", result.environment, "set a variable for the program; may be repeated", check_assignment)
      .shown_as("NAME=VALUE");
  parser
      .add_flag_with_value("--sim", "drawn", sim,
                           "a simulated network, which shows mistakes of order and retries; SEED replays one")
      .shown_as("[=SEED]");
  parser.add_flag("--mpi", result.mpi, "run a program of another MPI library of the standard ABI with Weft's");
  parser.add_flag("-q,--quiet", result.quiet, "say nothing of one's own about ranks that fail");
  parser.allow_rest();
  parser.set_footer(
      "Signals are passed on to the ranks; a second interrupt kills them. Standard input goes to rank 0.");
  if (const auto answer = parser.parse(argc, argv)) {
    if (!answer->mistake.empty()) {
      return refuse(count_of_ranks_elsewhere(argc, argv).value_or(answer->mistake), exit_code);
    }
    std::fputs(answer->text.c_str(), stdout);
    exit_code = 0;
    return std::nullopt;
  }
  result.bind = *parse_bind(bind);
  if (!sim.empty()) {
    result.sim_seed = parse_seed(sim);
    if (!result.sim_seed) {
      return refuse("--sim=" + sim + " is no seed: give a whole number from 1 on, or --sim alone", exit_code);
    }
  }
  std::vector<std::string> command = parser.rest();
  if (!command.empty() && command.front() == "--")
    command.erase(command.begin());
  else if (!command.empty() && command.front().starts_with('-'))
    return refuse(count_of_ranks_elsewhere(argc, argv).value_or("unknown option " + command.front()), exit_code);
  if (command.empty()) return refuse("which program is to be started?", exit_code);
  result.programs.push_back({result.ranks, std::move(command), {}});
  return result;
}

}  // namespace weft::run
