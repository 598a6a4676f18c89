// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/counted.hpp"
#include "weft-run/guardian.hpp"
#include "weft/error.hpp"

namespace weft::run {
namespace {

struct ends_of_pair {
  descriptor ours;
  descriptor theirs;
};

void make_non_blocking(const descriptor& fd) { ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK); }

// Reported before the first of them is opened: near the limit, nothing else works well either.
void check_descriptor_limit(std::uint32_t ranks) {
  static constexpr std::uint64_t for_each_rank = 7;  // both ends of two pipes and a socket pair, and an input
  static constexpr std::uint64_t beside = 16;
  rlimit files{};
  const std::uint64_t needed = for_each_rank * ranks + beside;
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= needed) return;
  throw error{errc::boot_failed, fmt::format("{} {} {} open files, and the limit is {}; raise it (ulimit -n)",
                                             base::counted(ranks, "rank"), base::form_for(ranks, "needs", "need"),
                                             needed, files.rlim_cur)};
}

// A pipe that the ranks write blocking, and we read without waiting.
ends_of_pair make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) fail_by_errno("make a pipe");
  ends_of_pair pair{descriptor{fds[0]}, descriptor{fds[1]}};
  make_non_blocking(pair.ours);
  return pair;
}

ends_of_pair make_socket_pair(int type) {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds.data()) != 0) fail_by_errno("make a socket pair");
  return {descriptor{fds[0]}, descriptor{fds[1]}};
}

// For the guardian, made before it starts: a descriptor of signals reports those of the process that reads it.
descriptor make_child_signals() {
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  descriptor signals{::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!signals.open()) fail_by_errno("make a descriptor for signals");
  return signals;
}

descriptor open_nothing() {
  descriptor nothing{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  if (!nothing.open()) fail_by_errno("open /dev/null");
  return nothing;
}

// Rank 0 reads it itself: bytes that weft-run read in advance, and the rank did not want, would be lost to the next
// reader.
descriptor inherited_input() {
  descriptor input{::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)};
  if (!input.open()) fail_by_errno("pass on standard input");
  return input;
}

rank_ends connect_rank(launched_job& job, std::uint32_t rank) {
  rank_ends theirs;
  launcher_ends ours;
  theirs.input = rank == 0 ? inherited_input() : open_nothing();
  auto output = make_pipe();
  auto errors = make_pipe();
  auto pmi = make_socket_pair(SOCK_STREAM);
  make_non_blocking(pmi.ours);
  theirs.output = std::move(output.theirs);
  theirs.errors = std::move(errors.theirs);
  theirs.pmi = std::move(pmi.theirs);
  job.ranks.push_back({std::move(output.ours), std::move(errors.ours), std::move(pmi.ours)});
  return theirs;
}

// `ps` shall show the role of this process; and `pkill -f weft-run` shall not end it along with weft-run.
void rename_process(char** argv) {
  char* const begin = argv[0];
  char* end = begin;
  for (char** argument = argv; *argument == end || *argument == begin; ++argument) {
    end = *argument + std::strlen(*argument) + 1;
    if (argument[1] == nullptr) break;
  }
  std::memset(begin, 0, static_cast<std::size_t>(end - begin));
  std::strncpy(begin, "weft-guardian", static_cast<std::size_t>(end - begin) - 1);
}

}  // namespace

void fail_by_errno(const char* action) {
  const char* const hint = errno == EMFILE || errno == ENFILE ? "; raise the limit of open files (ulimit -n)" : "";
  throw error{errc::boot_failed, fmt::format("can't {}: {}{}", action, std::strerror(errno), hint)};
}

inherited_state prepare_process() {
  for (int fd = 0; fd <= 2;) {
    if (::fcntl(fd, F_GETFD) >= 0)
      ++fd;
    else if (::open("/dev/null", O_RDWR) != fd)
      ::_exit(exit_launcher);
  }
  inherited_state state;
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &state.pipe);
  ::sigaction(SIGTTOU, &ignore, &state.terminal_output);
  ::sigprocmask(SIG_SETMASK, nullptr, &state.mask);
  ::getrlimit(RLIMIT_NOFILE, &state.files);
  rlimit wide = state.files;
  wide.rlim_cur = wide.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &wide);
  // Should the guardian be killed, its children become ours.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  return state;
}

launched_job launch(const options& chosen, program_plan plan, const binding& bind, char** argv) {
  check_descriptor_limit(chosen.ranks);
  launched_job job;
  std::vector<rank_ends> theirs;
  for (std::uint32_t rank = 0; rank < chosen.ranks; ++rank) theirs.push_back(connect_rank(job, rank));
  auto control = make_socket_pair(SOCK_SEQPACKET);
  descriptor child_signals = make_child_signals();
  job.guardian = ::fork();
  if (job.guardian < 0) fail_by_errno("start a process");
  if (job.guardian == 0) {
    job = launched_job{};  // our ends belong to weft-run alone: their hang-up is a message
    control.ours.close();
    plan.programs = chosen.programs;
    plan.environment = chosen.environment;
    rename_process(argv);
    run_guardian(plan, bind, std::move(theirs), std::move(control.theirs), std::move(child_signals));
  }
  job.control = std::move(control.ours);
  return job;
}

}  // namespace weft::run
