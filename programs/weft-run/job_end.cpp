// SPDX-License-Identifier: BSD-3-Clause
// A job ends by a rank that fails, a signal, the time, or the last rank's end.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "boot/backends.hpp"
#include "weft-run/job.hpp"

namespace weft::run {
namespace {

int exit_code_of(int status) { return WIFSIGNALED(status) ? exit_signal + WTERMSIG(status) : WEXITSTATUS(status); }

std::string describe(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("failed: exit code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  return fmt::format("was killed by signal {} ({}){}", signal, ::strsignal(signal),
                     WCOREDUMP(status) ? ", core dumped" : "");
}

std::string name_with_verb(const std::vector<std::uint32_t>& ranks, const char* of_one, const char* of_several) {
  return fmt::format("{} {}", name_ranks(ranks), ranks.size() == 1 ? of_one : of_several);
}

std::string describe_stragglers(const std::vector<std::uint32_t>& ended, const std::vector<std::uint32_t>& running,
                                double seconds) {
  return fmt::format("{} ended with exit code 0, and {} s later {}", name_with_verb(ended, "has", "have"), seconds,
                     name_with_verb(running, "still runs", "still run"));
}

}  // namespace

std::string name_ranks(const std::vector<std::uint32_t>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", boot::list_of_ranks(ranks));
}

job::clock::time_point job::after(double seconds) {
  return clock::now() +
         std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{std::min(seconds, 1e8)});
}

void job::say(const std::string& text) {
  if (options_.quiet) return;
  errors_->take(sink::own_voice, {}, fmt::format("weft-run: {}\n", text));
  flush(*errors_);
}

// Ends the job, unless it is ending already: the first reason counts.
void job::fail(int exit_code, const std::string& text) {
  if (ending_) return;
  ending_ = true;
  exit_code_ = exit_code;
  failures_.note_reported();
  say(text);
  signal_ranks(SIGTERM);
  signal_ranks(SIGCONT);
  kill_at_ = after(options_.grace_s);
}

void job::complain(const std::optional<std::string>& complaint) {
  if (complaint) fail(exit_launcher, *complaint);
}

void job::signal_ranks(int signal, bool by_terminal) {
  if (launched_.control.open()) (void)send_message(launched_.control.get(), order{signal, by_terminal ? 1 : 0});
}

void job::read_events() {
  event news{};
  while (launched_.control.open()) {
    switch (receive_message(launched_.control.get(), news)) {
      case received::nothing: return;
      case received::hang_up: return guardian_gone();
      case received::message: break;
    }
    switch (news.happened) {
      case event::kind::start_failed: start_failed(news.rank, news.step, news.value); break;
      case event::kind::cant_watch:
        fail(exit_launcher,
             fmt::format("the guardian process can't wait for events: {}; ending the job", std::strerror(news.value)));
        break;
      case event::kind::ended: rank_ended(news.rank, news.value); break;
      case event::kind::all_gone:
        ranks_are_gone();
        if (news.value > 0)
          say(fmt::format("{} of the job could not be killed",
                          news.value == 1 ? "1 process" : fmt::format("{} processes", news.value)));
        break;
    }
  }
}

void job::rank_ended(std::uint32_t rank, int status) {
  std::erase(running_, rank);
  serve_pmi(rank);  // requests that it sent before it ended
  warn_of_other_mpi(rank);
  if (exit_code_of(status) != 0) {
    failures_.add({rank, status});
    return;
  }
  failures_.note_end(rank);
  complain(server_.rank_ended(rank));
  succeeded_.insert(std::upper_bound(succeeded_.begin(), succeeded_.end(), rank), rank);
  watch_stragglers();
}

// Said when the first rank ends, before the line that it has failed.
void job::warn_of_other_mpi(std::uint32_t rank) {
  if (ending_ || server_.ever_used()) return other_mpi_.stop();
  const auto line = other_mpi_.take_line(options_.programs[program_index(options_.programs, rank)], rank);
  if (!line) return;
  drain_rank(rank);
  say(*line);
}

// A rank may end with 0 in the middle of a job: ranks that wait for its messages then wait for ever. Other ranks have
// work left and are fine. Only the user can tell.
void job::watch_stragglers() {
  const bool over = running_.empty();
  notice_at_ = over || options_.notice_s == 0 ? std::nullopt : std::optional{after(options_.notice_s)};
  linger_at_ = over || options_.linger_s == 0 ? std::nullopt : std::optional{after(options_.linger_s)};
}

// Several ranks may be found dead together, and a rank can notice the death of another one, and end, before that death
// is seen here.
void job::report_first_failure() {
  const std::optional<failure> first = failures_.take_first();
  if (!first) return;
  const std::string text = fmt::format("rank {} {}", first->rank, describe(first->status));
  if (ending_) {
    // After a signal from outside, all end together, in any order. The other signals are those of this job.
    const bool is_killed_here = WIFSIGNALED(first->status) && (!kill_at_ || WTERMSIG(first->status) == SIGTERM);
    if (signals_seen_ > 0 || is_killed_here || !failures_.is_earlier(first->rank)) return;
    failures_.note_reported(first->rank);
    return say(text + ", which may be the cause");
  }
  drain_rank(first->rank);
  fail(exit_code_of(first->status), text);
  failures_.note_reported(first->rank);
}

void job::start_failed(std::uint32_t rank, start_step step, int problem) {
  const char* const why = std::strerror(problem);
  switch (step) {
    case start_step::process: return fail(exit_launcher, fmt::format("rank {} could not be started: {}", rank, why));
    case start_step::binding:
      return fail(exit_launcher,
                  fmt::format("rank {} could not be bound to its processors: {}; --bind none does without", rank, why));
    case start_step::folder:
      return fail(exit_launcher, fmt::format("rank {} could not be started in the folder {}: {}", rank,
                                             options_.programs[program_index(options_.programs, rank)].folder, why));
    case start_step::program: break;
  }
  fail(problem == ENOENT ? exit_not_found : exit_not_executable,
       fmt::format("rank {} could not be started: {}: {}", rank,
                   options_.programs[program_index(options_.programs, rank)].command.front(), why));
}

void job::guardian_gone() {
  launched_.control.close();
  ::waitpid(launched_.guardian, nullptr, 0);
  if (all_gone_) return;
  // The kernel has killed the ranks along with it; processes that they had started are ours now.
  fail(exit_launcher, "the guardian process has died; ending the job");
  const auto deadline = clock::now() + std::chrono::seconds{10};
  while (kill_descendants() > 0 && clock::now() < deadline) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  ranks_are_gone();
}

void job::ranks_are_gone() {
  all_gone_ = true;
  other_mpi_.stop();
  give_up_at_ = clock::now() + std::chrono::seconds{2};
  for (stream& s : streams_) {
    int waiting = 0;
    if (s.fd.open() && ::ioctl(s.fd.get(), FIONREAD, &waiting) == 0) s.bytes_owed = static_cast<std::size_t>(waiting);
  }
}

// A process outside of the job may hold a pipe of it: a rank has passed the descriptor on, or there is no /proc to find
// its descendants in. The ranks' own output has come out by now.
void job::leave_held_streams() {
  if (std::any_of(streams_.begin(), streams_.end(), [&](const stream& s) { return has_more_of_ranks(s); })) return;
  std::vector<std::uint32_t> ranks[2];
  for (std::uint32_t i = 0; i < streams_.size(); ++i) {
    stream& s = streams_[i];
    if (!s.fd.open()) continue;
    s.lines.show_begun();
    s.fd.close();
    --streams_open_;
    ranks[i % 2].push_back(i / 2);
  }
  for (const std::uint32_t kind : {0U, 1U}) {
    if (ranks[kind].empty()) continue;
    say(fmt::format("a process outside of the job holds the {} of {}; what it writes there from now on is lost",
                    kind == 0 ? "standard output" : "standard error", name_ranks(ranks[kind])));
  }
}

void job::take_signal(int signal, bool by_terminal) {
  switch (signal) {
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
      if (++signals_seen_ > 1) {
        if (!exit_code_) exit_code_ = exit_signal + signal;
        ending_ = true;
        signal_ranks(SIGKILL);
      } else {
        signal_ranks(signal, by_terminal);
        signal_ranks(SIGCONT);
      }
      break;
    case SIGTSTP:
    case SIGTTIN:  // rank 0 has read the terminal in the background: the terminal has stopped it
      signal_ranks(SIGTSTP, by_terminal);
      ::raise(SIGSTOP);
      break;
    default: signal_ranks(signal, by_terminal);
  }
}

// The time for which it has checked them.
job::clock::time_point job::check_deadlines() {
  const auto now = clock::now();
  if (server_.ever_used()) other_mpi_.stop();
  other_mpi_.look(launched_.guardian);
  if (timeout_at_ && now >= *timeout_at_) {
    timeout_at_.reset();
    if (!all_gone_) {
      if (!running_.empty()) warn_of_other_mpi(running_.front());
      end_after_reports(exit_timeout, fmt::format("the job took longer than {} s; ending it", options_.timeout_s));
    }
  }
  if (notice_at_ && now >= *notice_at_) {
    notice_at_.reset();
    if (!ending_)
      say(describe_stragglers(succeeded_, running_, options_.notice_s) + "; --linger SECONDS ends such a job");
    options_.notice_s = 0;  // once is enough
  }
  if (linger_at_ && now >= *linger_at_) {
    linger_at_.reset();
    end_after_reports(exit_timeout, describe_stragglers(succeeded_, running_, options_.linger_s) + "; ending the job");
  }
  if (kill_at_ && now >= *kill_at_) {
    kill_at_.reset();
    signal_ranks(SIGKILL);
  }
  if (prompt_at_ && now >= *prompt_at_) {
    prompt_at_.reset();
    for (const std::uint32_t index : {0U, 1U}) streams_[index].lines.show_begun();
  }
  if (streams_open_ > 0 && give_up_at_ && now >= *give_up_at_) leave_held_streams();
  return now;
}

}  // namespace weft::run
