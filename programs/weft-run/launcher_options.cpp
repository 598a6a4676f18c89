// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/launcher_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

namespace weft::run {

enum class launcher_options::meaning : std::uint8_t {
  ranks,
  ranks_of_node,
  one_rank_of_node,
  variable,         // of one program
  variable_of_all,  // of all programs
  exported,
  folder,
  path,
  hosts,
  host_file,
  binding,
  timeout,
  prefix,
  output,
  input,
  quiet,
  default_here,  // the option asks for what weft-run does anyway
  flag,          // without effect here, with no value, one or two
  value,
  two_values,
};

struct launcher_options::names_of {
  launcher_options::meaning meaning;
  std::string_view names;  // without hyphens, a blank on each side
};

// Those of MPI 5.0 (11.5), of Hydra, which MPICH, Intel MPI and MVAPICH share, and of Open MPI and its PRRTE.
std::optional<launcher_options::meaning> launcher_options::find(std::string_view name) {
  static constexpr std::array table{
      names_of{meaning::ranks, " n np c "},
      names_of{meaning::ranks_of_node, " ppn perhost N npernode "},
      names_of{meaning::one_rank_of_node, " pernode "},
      names_of{meaning::variable, " env "},
      names_of{meaning::variable_of_all, " genv "},
      names_of{meaning::exported, " x "},
      names_of{meaning::folder, " wdir wd "},
      names_of{meaning::path, " path "},
      names_of{meaning::hosts, " host hosts H "},
      names_of{meaning::host_file, " hostfile machinefile machine-file default-hostfile f "},
      names_of{meaning::binding, " bind-to "},
      names_of{meaning::timeout, " timeout "},
      names_of{meaning::prefix, " l prepend-rank tag-output "},
      names_of{meaning::output, " output "},
      names_of{meaning::input, " stdin s "},
      names_of{meaning::quiet, " q quiet "},
      names_of{meaning::default_here, " oversubscribe allow-run-as-root envall genvall "},
      names_of{
          meaning::flag,
          " envnone genvnone info v verbose print-all-exitcodes print-rank-map ordered-output disable-auto-cleanup "
          "disable-hostname-propagation disable-x enable-x nooversubscribe use-hwthread-cpus bynode byslot bycore "
          "report-bindings display-map display-allocation display-topo timestamp-output merge-stderr-to-stdout "
          "enable-recovery "},
      names_of{meaning::value,
               " arch soft envlist genvlist launcher launcher-exec bootstrap bootstrap-exec rmk iface topolib membind "
               "order-nodes usize am map-by rank-by runtime-options display personality cpu-set cpu-list prefix "},
      names_of{meaning::two_values, " mca gmca omca gomca prtemca pmixmca gpmixmca "},
  };
  const std::string word = fmt::format(" {} ", name);
  const auto has_it = [&](const names_of& each) { return each.names.find(word) != each.names.npos; };
  const auto found = std::ranges::find_if(table, has_it);
  return found == table.end() ? std::nullopt : std::optional{found->meaning};
}

bool launcher_options::try_take(program& program) {
  const std::string_view word = words_.front();
  const std::string_view bare = word.substr(word.starts_with("--") ? 2 : 1);
  const std::size_t equals = bare.find('=');
  const auto found = find(bare.substr(0, equals));
  if (!found) return false;
  given_ = word.substr(0, word.find('='));
  value_ = equals == bare.npos ? std::nullopt : std::optional{std::string{bare.substr(equals + 1)}};
  words_ = words_.subspan(1);
  obey(*found, program);
  if (value_) throw refusal{fmt::format("{} takes no value", given_)};
  return true;
}

void launcher_options::obey(meaning given, program& program) {
  switch (given) {
    case meaning::ranks: ranks_ = next_count(); break;
    case meaning::ranks_of_node: ranks_of_node_ = next_count(); break;
    case meaning::one_rank_of_node: ranks_of_node_ = 1; break;
    case meaning::variable: program.environment.push_back(next_assignment()); break;
    case meaning::variable_of_all: job_.environment.push_back(next_assignment()); break;
    case meaning::exported: set_exported(program.environment, next(given_)); break;
    case meaning::folder: program.folder = next(given_); break;
    case meaning::path: program.path = next(given_); break;
    case meaning::hosts: {
      const std::string list = next(given_);
      check_hosts(read_hosts(list), list);
      break;
    }
    case meaning::host_file: {
      const std::string file = next(given_);
      const auto hosts = read_host_file(file);
      if (!hosts) throw refusal{fmt::format("{} {}: {}", given_, file, std::strerror(errno))};
      check_hosts(*hosts, file);
      break;
    }
    case meaning::binding: set_binding(next(given_)); break;
    case meaning::timeout: set_timeout(next(given_)); break;
    case meaning::prefix: job_.prefix = true; break;
    case meaning::output: {
      const std::string text = next(given_);
      if (!text.starts_with("tag")) return note_without_effect(0, text);
      job_.prefix = true;
      break;
    }
    case meaning::input: {
      const std::string text = next(given_);
      if (text != "0") note_without_effect(0, text);  // rank 0 reads the input in any case
      break;
    }
    case meaning::quiet: job_.quiet = true; break;
    case meaning::default_here: break;
    case meaning::flag: note_without_effect(0); break;
    case meaning::value: note_without_effect(1); break;
    case meaning::two_values: note_without_effect(2); break;
  }
}

std::string launcher_options::next(std::string_view lacking) {
  if (value_) return *std::exchange(value_, std::nullopt);
  if (words_.empty() || words_.front() == std::string_view{":"})
    throw refusal{fmt::format("{} lacks its value", lacking)};
  const std::string out = words_.front();
  words_ = words_.subspan(1);
  return out;
}

// Ranks of a node are all ranks: this machine is the only node.
std::optional<std::uint32_t> launcher_options::take_ranks() {
  const auto of_node = std::exchange(ranks_of_node_, std::nullopt);
  const auto slots = std::exchange(slots_, std::nullopt);
  const auto ranks = std::exchange(ranks_, std::nullopt);
  return ranks ? ranks : of_node ? of_node : slots;
}

std::uint32_t launcher_options::next_count() {
  const std::string text = next(given_);
  std::uint32_t out = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (problem != std::errc{} || end != text.data() + text.size() || out == 0 || out > ranks_max)
    throw refusal{fmt::format("{} {} is no number of ranks from 1 to {}", given_, text, ranks_max)};
  return out;
}

// Of `NAME VALUE`, or of `NAME=VALUE` in one word.
std::string launcher_options::next_assignment() {
  const std::string name = next(given_);
  const std::size_t equals = name.find('=');
  if (name.empty() || equals == 0) throw refusal{fmt::format("'{}' is no name of a variable", name)};
  return equals != name.npos ? name : fmt::format("{}={}", name, next(given_));
}

// Ranks have all variables of weft-run's own environment in any case.
void launcher_options::set_exported(std::vector<std::string>& environment, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (text.empty() || equals == 0) throw refusal{fmt::format("'{}' is no name of a variable", text)};
  if (equals != text.npos)
    environment.push_back(text);
  else if (std::getenv(text.c_str()) == nullptr)
    job_.notes.push_back(fmt::format("-x {}: there is no such variable; skipped", text));
}

void launcher_options::check_hosts(const std::vector<named_host>& hosts, const std::string& text) {
  const auto other = std::ranges::find_if(hosts, [](const named_host& each) { return !is_this_machine(each.name); });
  if (other != hosts.end()) {
    throw refusal{fmt::format(
        "{0} {1}: {2} is another machine, and ranks are started on this one alone; on several machines, start a "
        "program "
        "of Weft with MPICH's launcher, as in mpiexec.hydra -hosts {2} -n 2 program, or with Slurm's srun --mpi=pmi2",
        given_, text, other->name)};
  }
  if (hosts.empty()) throw refusal{fmt::format("{} {} names no host", given_, text)};
  slots_ = std::accumulate(hosts.begin(), hosts.end(), std::uint32_t{0}, [](std::uint32_t sum, const named_host& each) {
    return std::min(ranks_max, sum + std::min(each.slots, ranks_max));
  });
}

// What stands behind the kind of object says when a launcher refuses a binding, and none is refused here.
void launcher_options::set_binding(const std::string& text) {
  std::string rule = text.starts_with("package") ? fmt::format("socket{}", text.substr(7)) : text;
  for (const std::string_view ending : {":overload-allowed", ":no-overload", ":if-supported", ":report"}) {
    if (rule.ends_with(ending)) rule.erase(rule.size() - ending.size());
  }
  const auto found = parse_bind(rule);
  if (!found) {
    throw refusal{fmt::format("{} {} is not known; known are none, hwthread, core, socket, package, numa and auto",
                              given_, text)};
  }
  job_.bind = *found;
}

void launcher_options::set_timeout(const std::string& text) {
  double& seconds = job_.timeout_s;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (problem != std::errc{} || end != text.data() + text.size() || !(seconds >= 0 && seconds <= 1e9))
    throw refusal{fmt::format("{} {} is no number of seconds", given_, text)};
}

void launcher_options::note_without_effect(unsigned values, const std::string& value) {
  std::string text = value.empty() ? given_ : fmt::format("{} {}", given_, value);
  for (unsigned i = 0; i < values; ++i) text += fmt::format(" {}", next(given_));
  without_effect_ += fmt::format("{}{}", without_effect_.empty() ? "" : ", ", text);
}

void launcher_options::note_effects() {
  if (!without_effect_.empty()) job_.notes.push_back("no effect here: " + std::exchange(without_effect_, {}));
}

}  // namespace weft::run
