// SPDX-License-Identifier: BSD-3-Clause
// The command line of MPI's launcher: options of other launchers.
#include <fmt/format.h>

#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "weft-run/launcher_options.hpp"
#include "weft-run/options.hpp"
#include "weft/version.hpp"

namespace weft::run {
namespace {

constexpr std::string_view help =
    "Usage: mpiexec [options] program [arguments...] [: [options] program [arguments...]]...\n"
    "Starts programs as the ranks of one job on this machine, in their order. It is weft-run by another name.\n\n"
    "  -n N, -np N, -c N       how many ranks of the program to start (1)\n"
    "  -ppn N, -N N            the same, where -n is not given: this machine is the only node\n"
    "  -host LIST, -hosts LIST, -hostfile FILE\n"
    "                          only this machine may be named; its slots count where neither -n nor -ppn is given\n"
    "  -env NAME VALUE         set a variable for the program\n"
    "  -genv NAME VALUE        set a variable for all programs\n"
    "  -x NAME[=VALUE]         set a variable for the program; without a value it has mpiexec's own\n"
    "  -wdir FOLDER            start the program in this folder\n"
    "  -path FOLDERS           look for the program there before PATH; colons stand between folders\n"
    "  -l, --tag-output        put the rank in front of every line of output\n"
    "  -timeout SECONDS        end the job after so long (exit code 124)\n"
    "  --bind-to WHAT          pin each rank: none, hwthread, core, socket, package, numa; auto, the default, is a\n"
    "                          portion of the cores\n"
    "  -q                      say nothing of one's own about ranks that fail\n"
    "  --oversubscribe, --allow-run-as-root, -genvall\n"
    "                          as it is without them\n"
    "  --mca NAME VALUE, --map-by WHAT and other options of Hydra and Open MPI that choose networks, launchers, nodes\n"
    "                          accepted, and a line says that they have no effect here\n"
    "  -h, --help, --version   print that and exit\n\n"
    "Each option may have one hyphen or two. weft-run has more of them.\n";

// Help or the version was asked for.
struct answer {
  std::string text;
};

class reader {
 public:
  explicit reader(std::span<char*> arguments) : left_{arguments} {}

  options read() {
    while (!left_.empty()) read_program();
    if (result_.programs.empty()) throw refusal{"which program is to be started?"};
    known_.note_effects();
    return std::move(result_);
  }

 private:
  // Up to `:`, which separates programs.
  void read_program() {
    program next;
    while (!left_.empty() && left_.front()[0] == '-') read_option(next);
    while (!left_.empty() && left_.front() != std::string_view{":"}) next.command.push_back(known_.next("a program"));
    if (next.command.empty()) throw refusal{"which program is to be started?"};
    if (!left_.empty()) {
      left_ = left_.subspan(1);
      if (left_.empty()) throw refusal{"which program is to be started after ':'?"};
    }
    result_.ranks += known_.take_ranks().value_or(1);
    if (result_.ranks > ranks_max) throw refusal{fmt::format("a job has at most {} ranks", ranks_max)};
    next.ranks_end = result_.ranks;
    result_.programs.push_back(std::move(next));
  }

  void read_option(program& program) {
    const std::string_view given = left_.front();
    if (given == "-h" || given == "-help" || given == "--help") throw answer{std::string{help}};
    if (given == "-version" || given == "--version" || given == "-V")
      throw answer{fmt::format("mpiexec of Weft {}\n", version_text())};
    if (!known_.try_take(program)) throw refusal{fmt::format("{} is not known", given)};
  }

  std::span<char*> left_;
  options result_;
  launcher_options known_{result_, left_};
};

}  // namespace

bool is_mpiexec(std::string_view called) {
  const std::string_view name = called.substr(called.rfind('/') + 1);
  return name == "mpiexec" || name == "mpirun";
}

std::optional<options> parse_mpiexec(int argc, char** argv, int& exit_code) {
  const std::span<char*> arguments{argv + 1, static_cast<std::size_t>(argc - 1)};
  exit_code = 0;
  try {
    options out = reader{arguments}.read();
    print_notes("mpiexec", out);
    return out;
  } catch (const answer& given) {
    std::fputs(given.text.c_str(), stdout);
    return std::nullopt;
  } catch (const refusal& wrong) {
    std::fprintf(stderr, "mpiexec: %s (see mpiexec --help)\n", wrong.text.c_str());
    exit_code = exit_usage;
    return std::nullopt;
  }
}

}  // namespace weft::run
