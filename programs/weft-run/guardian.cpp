// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/guardian.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <unordered_map>

#include "weft-run/messages.hpp"

namespace weft::run {
namespace {

class guardian {
 public:
  guardian(const program_plan& plan, const binding& bind, descriptor control)
      : plan_{plan}, bind_{bind}, control_{std::move(control)} {}

  void start_ranks(std::vector<rank_ends>& ends) {
    for (std::uint32_t rank = 0; rank < plan_.ranks; ++rank) {
      start_failure failure;
      const pid_t child = start_rank(plan_, bind_, rank, ends[rank], failure);
      if (child < 0) {
        tell({event::kind::start_failed, rank, failure.problem, failure.step});
        break;
      }
      ranks_.emplace(child, rank);
    }
    ends.clear();  // the ranks hold them now; their ends must show
  }

  void serve(int child_signals) {
    while (!ranks_.empty()) {
      std::array<pollfd, 2> watched{{{control_.get(), POLLIN, 0}, {child_signals, POLLIN, 0}}};
      if (::poll(watched.data(), watched.size(), -1) < 0) {
        if (errno == EINTR) continue;
        tell({event::kind::cant_watch, 0, errno});
        return end_ranks();
      }
      if (watched[1].revents != 0) {
        signalfd_siginfo ignored{};
        (void)!::read(child_signals, &ignored, sizeof ignored);
        reap();
      }
      if (watched[0].revents != 0) obey();
    }
  }

  // What the ranks have started and left. New ones may appear while the old ones die, hence the rounds.
  void sweep() {
    using clock = std::chrono::steady_clock;
    const auto deadline = clock::now() + std::chrono::seconds{10};
    std::size_t left = 0;
    do {
      left = kill_descendants();
      reap();
      if (left > 0) std::this_thread::sleep_for(std::chrono::milliseconds{2});
    } while (left > 0 && clock::now() < deadline);
    tell({event::kind::all_gone, 0, static_cast<std::int32_t>(left)});
  }

 private:
  void tell(const event& news) { (void)send_message(control_.get(), news); }

  void reap() {
    int status = 0;
    for (pid_t child = 0; (child = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = ranks_.find(child);
      if (found == ranks_.end()) continue;  // an orphan
      tell({event::kind::ended, found->second, status});
      ranks_.erase(found);
    }
  }

  void obey() {
    order given{};
    for (;;) {
      switch (receive_message(control_.get(), given)) {
        case received::message: signal_ranks(given.signal, given.by_terminal != 0); break;
        case received::nothing: return;
        case received::hang_up: return end_ranks();  // weft-run is gone
      }
    }
  }

  void end_ranks() {
    signal_ranks(SIGKILL);
    (void)kill_descendants();
    wait_for_ranks();
  }

  // None of them has been waited for, so these process ids are theirs.
  void signal_ranks(int signal, bool by_terminal = false) {
    for (const auto& [pid, rank] : ranks_) {
      if (rank == 0 && plan_.terminal_group != 0) {
        if (!by_terminal) signal_family(pid, plan_.terminal_group, signal);
      } else if (::kill(-pid, signal) != 0) {
        ::kill(pid, signal);
      }
    }
  }

  void wait_for_ranks() {
    while (!ranks_.empty()) {
      int status = 0;
      const pid_t child = ::waitpid(-1, &status, 0);
      if (child < 0 && errno != EINTR) return;
      ranks_.erase(child);
    }
  }

  const program_plan& plan_;
  const binding& bind_;
  descriptor control_;
  std::unordered_map<pid_t, std::uint32_t> ranks_;
};

}  // namespace

void run_guardian(const program_plan& plan, const binding& bind, std::vector<rank_ends> ends, descriptor control,
                  descriptor child_signals) {
  // Out of the terminal's reach, deaf to all signals, and named so that `pkill weft-run` does not mean it.
  ::setpgid(0, 0);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_NAME, "weft-guardian");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);

  guardian self{plan, bind, std::move(control)};
  self.start_ranks(ends);
  // A process at the other end of our output or input must not wait until the guardian closes it.
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, fd);
  self.serve(child_signals.get());
  self.sweep();
  ::_exit(0);
}

}  // namespace weft::run
