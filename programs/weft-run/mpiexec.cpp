// SPDX-License-Identifier: BSD-3-Clause
// The command line of MPI's launcher: what other launchers have in common, and no more.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include "weft-run/options.hpp"
#include "weft/version.hpp"

namespace weft::run {
namespace {

constexpr std::string_view help =
    "Usage: mpiexec [options] program [arguments...] [: [options] program [arguments...]]...\n"
    "Starts programs as the ranks of one job on this machine, in their order. It is weft-run by another name.\n\n"
    "  -n N, -np N            how many ranks of the program to start (1)\n"
    "  -env NAME VALUE        set a variable for the program\n"
    "  -genv NAME VALUE       set a variable for all programs\n"
    "  -x NAME[=VALUE]        set a variable for the program; without a value it has mpiexec's own\n"
    "  --bind-to WHAT         pin each rank: none, hwthread, core, socket, package, numa; auto, the default, is a\n"
    "                         portion of the cores\n"
    "  --oversubscribe        more ranks than cores, which are allowed also without it\n"
    "  -h, --help, --version  print that and exit\n\n"
    "Each option may have one hyphen or two. weft-run has more of them.\n";

// A wrong command line, in a line.
struct refusal {
  std::string text;
};

class reader {
 public:
  explicit reader(std::span<char*> arguments) : left_{arguments} {}

  options read() {
    while (!left_.empty()) read_program();
    if (result_.programs.empty()) throw refusal{"which program is to be started?"};
    return std::move(result_);
  }

 private:
  std::string next(std::string_view after) {
    if (left_.empty() || left_.front() == std::string_view{":"})
      throw refusal{fmt::format("{} lacks its value", after)};
    const std::string out = left_.front();
    left_ = left_.subspan(1);
    return out;
  }

  // Up to `:`, which separates programs.
  void read_program() {
    program one;
    std::uint32_t ranks = 1;
    while (!left_.empty() && left_.front()[0] == '-') read_option(one, ranks);
    while (!left_.empty() && left_.front() != std::string_view{":"}) one.command.push_back(next("a program"));
    if (one.command.empty()) throw refusal{"which program is to be started?"};
    if (!left_.empty()) {
      left_ = left_.subspan(1);
      if (left_.empty()) throw refusal{"which program is to be started after ':'?"};
    }
    result_.ranks += ranks;
    if (result_.ranks > ranks_max) throw refusal{fmt::format("a job has at most {} ranks", ranks_max)};
    one.ranks_end = result_.ranks;
    result_.programs.push_back(std::move(one));
  }

  void read_option(program& of, std::uint32_t& ranks) {
    const std::string given = next("an option");
    const std::string_view name = std::string_view{given}.substr(given.starts_with("--") ? 2 : 1);
    if (name == "n" || name == "np") {
      ranks = read_count(given);
    } else if (name == "env" || name == "genv") {
      const std::string variable = next(given);
      set(name == "env" ? of.environment : result_.environment, variable, next(given));
    } else if (name == "x") {
      read_variable(of, next(given));
    } else if (name == "bind-to") {
      read_binding(next(given));
    } else if (name != "oversubscribe") {
      throw refusal{
          fmt::format("{} is not known; known are -n, -np, -env, -genv, -x, --bind-to and --oversubscribe", given)};
    }
  }

  std::uint32_t read_count(const std::string& option) {
    const std::string text = next(option);
    std::uint32_t out = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (problem != std::errc{} || end != text.data() + text.size() || out == 0 || out > ranks_max)
      throw refusal{fmt::format("{} {} is no number of ranks from 1 to {}", option, text, ranks_max)};
    return out;
  }

  static void set(std::vector<std::string>& to, const std::string& name, const std::string& value) {
    if (name.empty() || name.find('=') != name.npos) throw refusal{fmt::format("'{}' is no name of a variable", name)};
    to.push_back(fmt::format("{}={}", name, value));
  }

  // Ranks have all variables of mpiexec's own environment in any case.
  static void read_variable(program& of, const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals != text.npos) return set(of.environment, text.substr(0, equals), text.substr(equals + 1));
    if (std::getenv(text.c_str()) == nullptr) throw refusal{fmt::format("-x {}: there is no such variable", text)};
  }

  void read_binding(const std::string& text) {
    const auto found = parse_bind(text == "package" ? "socket" : text);
    if (!found)
      throw refusal{
          fmt::format("--bind-to {} is not known; known are none, hwthread, core, socket, package, numa and "
                      "auto",
                      text)};
    result_.bind = *found;
  }

  std::span<char*> left_;
  options result_;
};

}  // namespace

bool is_mpiexec(std::string_view called) {
  const std::string_view name = called.substr(called.rfind('/') + 1);
  return name == "mpiexec" || name == "mpirun";
}

std::optional<options> parse_mpiexec(int argc, char** argv, int& exit_code) {
  const std::span<char*> arguments{argv + 1, static_cast<std::size_t>(argc - 1)};
  const std::string_view first = arguments.empty() ? "" : arguments.front();
  exit_code = 0;
  if (first == "-h" || first == "-help" || first == "--help") {
    std::fputs(help.data(), stdout);
    return std::nullopt;
  }
  if (first == "-version" || first == "--version" || first == "-V") {
    std::printf("mpiexec of Weft %s\n", version_text());
    return std::nullopt;
  }
  try {
    return reader{arguments}.read();
  } catch (const refusal& wrong) {
    std::fprintf(stderr, "mpiexec: %s (see mpiexec --help)\n", wrong.text.c_str());
    exit_code = exit_usage;
    return std::nullopt;
  }
}

}  // namespace weft::run
