// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string_view>

namespace weft::run {
namespace {

// A variable that another launcher, or the file boot, may have left in our environment: it would contradict ours.
bool belongs_to_another_job(std::string_view entry) {
  static constexpr std::array<std::string_view, 17> prefixes{
      "PMI_",           "PMIX_",          "OMPI_COMM_WORLD_", "MPI_LOCAL",  "MV2_COMM_WORLD_", "SLURM_PROCID=",
      "SLURM_LOCALID=", "PALS_RANKID=",   "PALS_LOCAL_",      "FLUX_TASK_", "JSM_NAMESPACE_",  "WEFT_BOOT=",
      "WEFT_BOOT_DIR=", "WEFT_BOOT_KEY=", "WEFT_RANK=",       "WEFT_SIZE=", "WEFT_RUN_"};
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view p) { return entry.starts_with(p); });
}

void set_environment(const program_plan& plan, std::uint32_t rank, int pmi_fd) {
  std::vector<std::string> stale;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    if (belongs_to_another_job(text)) stale.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : stale) ::unsetenv(name.c_str());
  const auto set = [](const char* name, auto value) { ::setenv(name, fmt::format("{}", value).c_str(), 1); };
  set("PMI_FD", pmi_fd);
  set("PMI_RANK", rank);
  set("PMI_SIZE", plan.ranks);
  set("PMI_APPNUM", program_index(plan.programs, rank));
  // Programs choose their accelerator by their number on the machine, and all ranks are on one.
  for (const char* const name : {"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK"}) set(name, rank);
  for (const char* const name : {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"}) set(name, plan.ranks);
  set("WEFT_LAUNCHER_PID", plan.launcher);
  if (!plan.ask_word.empty()) set("WEFT_RUN_ASK_WORD", plan.ask_word);
  ::setenv("WEFT_STUCK_AFTER", stuck_after, 0);  // unless the user has set it
  if (rank == 0 && plan.terminal_columns > 0) set("WEFT_RUN_TERMINAL_COLUMNS", plan.terminal_columns);
  for (const auto* list : {&plan.environment, &plan.programs[program_index(plan.programs, rank)].environment}) {
    for (const std::string& assignment : *list) {
      const std::size_t equals = assignment.find('=');
      ::setenv(assignment.substr(0, equals).c_str(), assignment.c_str() + equals + 1, 1);
    }
  }
}

// 0: one of its own.
pid_t group_of(const program_plan& plan, std::uint32_t rank) noexcept { return rank == 0 ? plan.terminal_group : 0; }

bool keep_open_as(int from, int to) {
  if (from == to) return ::fcntl(from, F_SETFD, 0) == 0;
  return ::dup2(from, to) == to;
}

// Returns only if it failed, with errno set.
void execute(const program& program, std::vector<char*>& arguments) {
  std::string_view path = program.path;
  while (!path.empty() && program.command.front().find('/') == std::string::npos) {
    const std::string_view folder = path.substr(0, path.find(':'));
    path.remove_prefix(std::min(folder.size() + 1, path.size()));
    const std::string file = fmt::format("{}/{}", folder.empty() ? "." : folder, program.command.front());
    if (::access(file.c_str(), X_OK) == 0) ::execv(file.c_str(), arguments.data());
  }
  ::execvp(arguments[0], arguments.data());
}

// In the child. Returns only if something failed.
start_failure become_rank(const program_plan& plan, const binding& bind, std::uint32_t rank, const rank_ends& ends,
                          pid_t parent) {
  ::setpgid(0, group_of(plan, rank));
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return {start_step::process, errno};
  if (::getppid() != parent) ::_exit(exit_launcher);  // it died before the kernel knew our wish
  if (!bind.apply(rank)) return {start_step::binding, errno};
  set_environment(plan, rank, ends.pmi.get());
  if (!keep_open_as(ends.input.get(), STDIN_FILENO) || !keep_open_as(ends.output.get(), STDOUT_FILENO) ||
      !keep_open_as(ends.errors.get(), STDERR_FILENO) || !keep_open_as(ends.pmi.get(), ends.pmi.get())) {
    return {start_step::process, errno};
  }
  if (!plan.ask_word.empty() && !keep_open_as(plan.ask_fd, plan.ask_fd)) return {start_step::process, errno};
  const program& own = plan.programs[program_index(plan.programs, rank)];
  if (!own.folder.empty() && ::chdir(own.folder.c_str()) != 0) return {start_step::folder, errno};
  std::vector<char*> arguments;
  for (const std::string& argument : own.command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::setrlimit(RLIMIT_NOFILE, &plan.inherited.files);
  ::sigaction(SIGPIPE, &plan.inherited.pipe, nullptr);
  ::sigaction(SIGTTOU, &plan.inherited.terminal_output, nullptr);
  ::sigprocmask(SIG_SETMASK, &plan.inherited.mask, nullptr);
  execute(own, arguments);
  return {start_step::program, errno};
}

}  // namespace

pid_t start_rank(const program_plan& plan, const binding& bind, std::uint32_t rank, const rank_ends& ends,
                 start_failure& failure) {
  // The pipe is closed by a successful exec; a start that fails is written into it.
  std::array<int, 2> report{};
  failure = {};
  if (::pipe2(report.data(), O_CLOEXEC) != 0) {
    failure.problem = errno;
    return -1;
  }
  const descriptor report_in{report[0]};
  descriptor report_out{report[1]};
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    const start_failure why = become_rank(plan, bind, rank, ends, parent);
    (void)!::write(report_out.get(), &why, sizeof why);
    ::_exit(exit_not_found);
  }
  if (child < 0) {
    failure.problem = errno;
    return -1;
  }
  ::setpgid(child, group_of(plan, rank));  // by both, so that neither has to wait for the other
  report_out.close();
  ssize_t n = 0;
  do {
    n = ::read(report_in.get(), &failure, sizeof failure);
  } while (n < 0 && errno == EINTR);
  if (n != sizeof failure) return child;
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return -1;
}

namespace {

// parent -> children, of all processes that /proc shows.
std::multimap<pid_t, pid_t> read_family_tree() {
  std::multimap<pid_t, pid_t> children;
  DIR* const directory = ::opendir("/proc");
  if (directory == nullptr) return children;
  while (const dirent* entry = ::readdir(directory)) {
    const pid_t pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    std::FILE* const file = std::fopen(fmt::format("/proc/{}/stat", pid).c_str(), "re");
    if (file == nullptr) continue;
    std::array<char, 512> text{};
    const std::size_t n = std::fread(text.data(), 1, text.size() - 1, file);
    std::fclose(file);
    // `pid (name) state parent ...`, where the name may contain anything, brackets too.
    const std::string_view line{text.data(), n};
    const std::size_t name_end = line.rfind(')');
    if (name_end == line.npos || name_end + 4 >= line.size()) continue;
    const char state = line[name_end + 2];
    const auto parent = static_cast<pid_t>(std::strtol(text.data() + name_end + 4, nullptr, 10));
    if (state != 'Z' && state != 'X') children.emplace(parent, pid);
  }
  ::closedir(directory);
  return children;
}

// The kernel's own list; false where it has none.
bool add_children(pid_t parent, std::vector<pid_t>& found) {
  std::ifstream file{fmt::format("/proc/{0}/task/{0}/children", parent)};
  if (!file) return false;
  for (pid_t child = 0; file >> child;) found.push_back(child);
  return true;
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t ancestor) {
  const auto tree = read_family_tree();
  std::vector<pid_t> found{ancestor};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = tree.equal_range(found[i]);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

std::vector<pid_t> listed_descendants_of(pid_t ancestor, std::size_t max) {
  std::vector<pid_t> found{ancestor};
  for (std::size_t i = 0; i < found.size() && found.size() <= max; ++i) {
    // A process that is gone has no list, either.
    if (!add_children(found[i], found) && i == 0) {
      found = descendants_of(ancestor);
      if (found.size() > max) found.resize(max);
      return found;
    }
  }
  found.erase(found.begin());
  if (found.size() > max) found.resize(max);
  return found;
}

void signal_family(pid_t parent, pid_t group, int signal) noexcept {
  std::vector<pid_t> family;
  try {
    family = descendants_of(parent);  // first: they get another parent when theirs ends
  } catch (...) {                     // no memory: the processes left are killed in the end
  }
  ::kill(parent, signal);
  for (const pid_t each : family) {
    if (::getpgid(each) == group) ::kill(each, signal);
  }
}

std::size_t kill_descendants() noexcept {
  try {
    const std::vector<pid_t> found = descendants_of(::getpid());
    for (const pid_t each : found) ::kill(each, SIGKILL);
    return found.size();
  } catch (...) {
    return 0;
  }
}

}  // namespace weft::run
