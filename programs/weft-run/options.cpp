// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "command_line.hpp"
#include "program_version.hpp"
#include "weft-run/launcher_options.hpp"

namespace weft::run {
namespace {

std::string check_assignment(const std::string& text) {
  if (!text.empty() && text.front() != '=') return {};
  return "'" + text + "' is not of the form NAME=VALUE or NAME";
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

constexpr std::array<std::string_view, 9> own_with_value{"-n",        "--ranks", "-x",       "--env",   "--bind",
                                                         "--timeout", "--grace", "--notice", "--linger"};
constexpr std::array<std::string_view, 8> own_flags{"--prefix", "-q",    "--quiet",   "-h",
                                                    "--help",   "--mpi", "--version", "--sim"};

bool is_in(std::span<const std::string_view> list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

bool is_number(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == text.npos; }

// Of weft-run, with its value if that is in the same word.
bool is_own(std::string_view word) {
  if (is_in(own_flags, word) || is_in(own_with_value, word)) return true;
  if (word.starts_with("--")) {
    const std::string_view name = word.substr(0, word.find('='));
    return is_in(own_flags, name) || is_in(own_with_value, name);
  }
  return (word.starts_with("-n") && is_number(word.substr(2))) || (word.starts_with("-x") && word != "-x");
}

// Takes options of other launchers from among those before the program. **Returns** the other words.
std::vector<char*> without_launcher_options(std::span<char*> words, launcher_options& known, std::span<char*>& left,
                                            program& program) {
  std::vector<char*> out{words.front()};
  for (left = words.subspan(1); !left.empty() && left.front()[0] == '-' && left.front() != std::string_view{"--"};) {
    const std::string_view word = left.front();
    const bool is_prefix = word == "-prefix";  // of Open MPI, which has a value there
    if (!is_own(word) && !is_prefix && known.try_take(program)) continue;
    const std::size_t taken = is_in(own_with_value, word) ? std::min<std::size_t>(2, left.size()) : 1;
    out.insert(out.end(), left.begin(), left.begin() + static_cast<std::ptrdiff_t>(taken));
    left = left.subspan(taken);
  }
  out.insert(out.end(), left.begin(), left.end());
  return out;
}

// The number of ranks in words that no launcher shares (-np2, --ntasks=2), among the options before the program: how it
// is given here. Nothing where another argument is the first that is wrong.
std::optional<std::string> count_of_ranks_elsewhere(std::span<char* const> words) {
  static constexpr std::array<std::string_view, 5> others{"np", "ranks", "nprocs", "nranks", "ntasks"};
  for (std::size_t i = 1; i < words.size() && words[i][0] == '-'; ++i) {
    const std::string_view argument = words[i];
    if (is_in(own_with_value, argument)) ++i;
    if (is_own(argument)) continue;
    const std::size_t begin = argument.starts_with("--") ? 2 : 1;
    const std::size_t end = std::min(argument.find_first_of("=0123456789", begin), argument.size());
    if (!is_in(others, argument.substr(begin, end - begin))) return std::nullopt;
    std::string_view value = argument.substr(end);
    if (value.starts_with('=')) value.remove_prefix(1);
    if (value.empty() && i + 1 < words.size()) value = words[i + 1];
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

namespace {

// The texts of options that weft-run itself reads further.
struct given_texts {
  std::string bind;
  std::string sim;
};

void add_options(command_parser& parser, options& result, given_texts& given) {
  parser.set_usage("Usage: weft-run -n N [options] program [arguments...]\n");
  parser.add_number("-n,--ranks", result.ranks, 1, ranks_max, "how many processes to start").shown_as("N");
  parser.add_flag("--prefix", result.prefix, "put the rank in front of every line of output");
  parser
      .add_text(
          "--bind", given.bind,
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
      .add_repeated("-x,--env", result.environment,
                    "set a variable for the program; may be repeated; NAME alone passes one on, as is done anyway",
                    check_assignment)
      .shown_as("NAME[=VALUE]");
  parser
      .add_flag_with_value("--sim", "drawn", given.sim,
                           "a simulated network, which shows mistakes of order and retries; SEED replays one")
      .shown_as("[=SEED]");
  parser.add_flag("--mpi", result.mpi, "run a program of another MPI library of the standard ABI with Weft's");
  parser.add_flag("-q,--quiet", result.quiet, "say nothing of one's own about ranks that fail");
  parser.allow_rest();
  parser.set_footer(
      "Signals are passed on to the ranks; a second interrupt kills them. Standard input goes to rank 0.\n"
      "Options of other launchers do here as they do in mpiexec, which is weft-run by another name (mpiexec --help):\n"
      "-np, -ppn, -host, -wdir, -path, -env, -genv, -l, -timeout, --bind-to, --mca, --map-by and more.");
}

}  // namespace

std::optional<options> parse_options(int argc, char** argv, int& exit_code) {
  options result;
  given_texts given;
  program only;
  std::span<char*> left;
  launcher_options known{result, left};
  command_parser parser{
      "Starts a program as several ranks on this machine.\n"
      "The job ends with the first rank that fails, and with its exit code.",
      "weft-run", version_of("weft-run")};
  add_options(parser, result, given);
  try {
    const std::span<char*> all{argv, static_cast<std::size_t>(argc)};
    const std::vector<char*> words = without_launcher_options(all, known, left, only);
    result.ranks = known.take_ranks().value_or(0);
    const auto refuse_word = [&](const std::string& mistake) {
      return refuse(count_of_ranks_elsewhere(words).value_or(mistake), exit_code);
    };
    if (const auto answer = parser.parse(static_cast<int>(words.size()), words.data())) {
      if (!answer->mistake.empty()) return refuse_word(answer->mistake);
      std::fputs(answer->text.c_str(), stdout);
      exit_code = 0;
      return std::nullopt;
    }
    only.command = parser.rest();
    if (!only.command.empty() && only.command.front() == "--")
      only.command.erase(only.command.begin());
    else if (!only.command.empty() && only.command.front().starts_with('-'))
      return refuse_word("unknown option " + only.command.front());
    for (const std::string& each : std::exchange(result.environment, {})) known.set_exported(result.environment, each);
  } catch (const refusal& wrong) {
    return refuse(wrong.text, exit_code);
  }
  if (!given.bind.empty()) result.bind = *parse_bind(given.bind);
  if (!given.sim.empty()) {
    result.sim_seed = parse_seed(given.sim);
    if (!result.sim_seed) {
      return refuse("--sim=" + given.sim + " is no seed: give a whole number from 1 on, or --sim alone", exit_code);
    }
  }
  if (result.ranks == 0) return refuse("-n N is required: how many ranks to start", exit_code);
  if (only.command.empty()) return refuse("which program is to be started?", exit_code);
  only.ranks_end = result.ranks;
  result.programs.push_back(std::move(only));
  known.note_effects();
  print_notes("weft-run", result);
  return result;
}

void print_notes(const char* launcher, const options& chosen) {
  if (chosen.quiet) return;
  for (const std::string& each : chosen.notes) std::fprintf(stderr, "%s: %s\n", launcher, each.c_str());
}

}  // namespace weft::run
