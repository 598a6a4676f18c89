// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/job.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace weft::run {
namespace {

sigset_t forwarded_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGTTIN, SIGCONT, SIGWINCH}) {
    ::sigaddset(&set, signal);
  }
  return set;
}

std::uint32_t columns_of(int fd) {
  if (::isatty(fd) != 1) return 0;
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80U;
}

program_plan make_plan(const options& chosen, const inherited_state& inherited) {
  program_plan plan;
  plan.ranks = chosen.ranks;
  plan.terminal_columns = columns_of(STDERR_FILENO);
  plan.launcher = ::getpid();
  plan.terminal_group = ::isatty(STDIN_FILENO) == 1 ? ::getpgrp() : 0;
  plan.inherited = inherited;
  return plan;
}

const program& program_of(const options& chosen, std::uint32_t rank) {
  return chosen.programs[program_index(chosen.programs, rank)];
}

}  // namespace

job::job(const options& chosen, const inherited_state& inherited, const binding& bind, char** argv)
    : options_{chosen},
      output_{loop_, chosen.quiet,
              [this](const std::string& text, bool is_error) {
                if (!is_error || is_ending_) say(text);
                if (is_error) fail({exit_launcher, text});
              }},
      server_{chosen.ranks, chosen.programs},
      ranks_{chosen.ranks, chosen.notice_s, chosen.linger_s},
      reports_{chosen.ranks, ranks_, output_,
               [this](std::uint32_t rank) { return options_.asks && server_.is_in_use(rank); }},
      failures_{chosen.ranks} {
  const sigset_t signals = forwarded_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);  // before there are ranks: none shall be missed
  signals_ = descriptor{::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!signals_.open()) fail_by_errno("make a descriptor for signals");
  program_plan plan = make_plan(chosen, inherited);
  plan.ask_word = reports_.make_word();
  plan.ask_fd = reports_.word_fd();
  launched_ = launch(chosen, std::move(plan), bind, argv);
  loop_.watch(launched_.control.get(), EPOLLIN, {event_source::control, 0});
  loop_.watch(signals_.get(), EPOLLIN, {event_source::signals, 0});
  for (std::uint32_t rank = 0; rank < chosen.ranks; ++rank) {
    launcher_ends& ends = launched_.ranks[rank];
    output_.add(std::move(ends.output), std::move(ends.errors), chosen.prefix ? fmt::format("[{}] ", rank) : "",
                reports_.lines());
    loop_.watch(ends.pmi.get(), EPOLLIN, {event_source::pmi, rank});
  }
  if (chosen.timeout_s > 0) timeout_at_ = after(chosen.timeout_s);
}

int job::run() {
  clock::time_point checked_at = clock::now();
  while (!is_over()) {
    output_.refresh_watches();
    for (const ready_source each : loop_.wait(milliseconds_to_wait(checked_at))) dispatch(each);
    report_first_failure();
    checked_at = check_deadlines();
    if (const auto reason = reports_.check()) fail(*reason);
    output_.flush();
  }
  reports_.show();
  if (!output_.is_complete()) say("interrupted twice: output of the ranks that its reader has not taken is lost");
  if (launched_.control.open()) ::waitpid(launched_.guardian, nullptr, 0);  // it has reported its end
  return exit_code_.value_or(output_.is_lost() ? exit_signal + SIGPIPE : 0);
}

// A slow reader is waited for, unless the user has asked for the end twice.
bool job::is_over() const {
  if (!are_gone_) return false;
  return output_.is_complete() || (signals_seen_ > 1 && give_up_at_ && clock::now() >= *give_up_at_);
}

void job::dispatch(ready_source ready) {
  switch (ready.source) {
    case event_source::control: return read_events();
    case event_source::signals: return read_signals();
    case event_source::sink: return output_.write(ready.index);
    case event_source::stream: return output_.read(ready.index);
    case event_source::pmi: return serve_pmi(ready.index);
  }
}

// `checked_at`: the time for which deadlines were checked; one that has passed since then is still to be seen to.
int job::milliseconds_to_wait(clock::time_point checked_at) const {
  const deadline next = earliest({timeout_at_, ranks_.next(), reports_.next(), kill_at_, output_.prompt_at(),
                                  give_up_at_, failures_.look_again_at(), other_mpi_.look_at()});
  if (give_up_at_ && next == give_up_at_ && checked_at >= *next) return -1;  // only a slow reader is left to wait for
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
}

// The time for which it has checked them.
clock::time_point job::check_deadlines() {
  const auto now = clock::now();
  if (server_.ever_used()) other_mpi_.stop();
  other_mpi_.look(launched_.guardian);
  if (take_passed(timeout_at_, now) && !are_gone_) {
    if (!ranks_.running().empty()) warn_of_other_mpi(ranks_.running().front());
    end_after_reports({exit_timeout, fmt::format("the job took longer than {} s; ending it", options_.timeout_s)});
  }
  if (const auto text = ranks_.take_notice(now); text && !is_ending_) say(*text);
  if (const auto text = ranks_.take_linger(now)) end_after_reports({exit_timeout, *text});
  if (take_passed(kill_at_, now)) signal_ranks(SIGKILL);
  output_.check_prompt(now);
  if (output_.has_open_pipes() && give_up_at_ && now >= *give_up_at_) output_.leave_held_pipes();
  return now;
}

void job::serve_pmi(std::uint32_t rank) {
  const descriptor& socket = launched_.ranks[rank].pmi;
  std::array<char, 4096> bytes;
  ssize_t n = 0;
  while (socket.open() && (n = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
    complain(server_.receive(rank, {bytes.data(), static_cast<std::size_t>(n)}));
    send_pmi_replies();
    if (const auto code = server_.abort_code()) {
      fail({std::clamp(*code & 255, 1, 255), fmt::format("rank {} asked for the end of the job", rank)});
    }
  }
  if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) return;
  launched_.ranks[rank].pmi.close();
  if (server_.is_in_use(rank)) failures_.note_left(rank);
}

void job::send_pmi_replies() {
  for (const std::uint32_t rank : server_.take_ranks_with_replies()) {
    const std::string replies = server_.take_replies(rank);
    const descriptor& socket = launched_.ranks[rank].pmi;
    if (!socket.open()) continue;
    const ssize_t n = ::send(socket.get(), replies.data(), replies.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n == static_cast<ssize_t>(replies.size()) || (n < 0 && errno == EPIPE)) continue;
    complain(fmt::format("rank {} does not read the replies to its PMI-1 requests", rank));
  }
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
      case event::kind::start_failed:
        fail(reason_of_failed_start(news.rank, news.step, news.value, program_of(options_, news.rank)));
        break;
      case event::kind::cant_watch:
        fail({exit_launcher, fmt::format("the guardian process can't wait for events: {}; ending the job",
                                         std::strerror(news.value))});
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
  ranks_.note_end(rank);
  serve_pmi(rank);  // requests that it sent before it ended
  warn_of_other_mpi(rank);
  if (exit_code_of(status) != 0) {
    failures_.add({rank, status});
    return;
  }
  failures_.note_end(rank);
  complain(server_.rank_ended(rank));
  ranks_.note_success(rank);
}

// Said when the first rank ends, before the line that it has failed.
void job::warn_of_other_mpi(std::uint32_t rank) {
  if (is_ending_ || server_.ever_used()) return other_mpi_.stop();
  const auto line = other_mpi_.take_line(program_of(options_, rank), rank);
  if (!line) return;
  output_.drain(rank);
  say(*line);
}

// Several ranks may be found dead together, and a rank can notice the death of another one, and end, before that death
// is seen here.
void job::report_first_failure() {
  const std::optional<failure> first = failures_.take_first();
  if (!first) return;
  const std::string text = fmt::format("rank {} {}", first->rank, describe_end(first->status));
  if (is_ending_) {
    // After a signal from outside, all end together, in any order. The other signals are those of this job.
    const bool is_killed_here = WIFSIGNALED(first->status) && (!kill_at_ || WTERMSIG(first->status) == SIGTERM);
    if (signals_seen_ > 0 || is_killed_here || !failures_.is_earlier(first->rank)) return;
    failures_.note_reported(first->rank);
    return say(text + ", which may be the cause");
  }
  output_.drain(first->rank);
  fail({exit_code_of(first->status), text});
  failures_.note_reported(first->rank);
}

void job::guardian_gone() {
  launched_.control.close();
  ::waitpid(launched_.guardian, nullptr, 0);
  if (are_gone_) return;
  // The kernel has killed the ranks along with it; processes that they had started are ours now.
  fail({exit_launcher, "the guardian process has died; ending the job"});
  const auto give_up = clock::now() + std::chrono::seconds{10};
  while (kill_descendants() > 0 && clock::now() < give_up) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  ranks_are_gone();
}

void job::ranks_are_gone() {
  are_gone_ = true;
  other_mpi_.stop();
  give_up_at_ = clock::now() + std::chrono::seconds{2};
  output_.note_end();
}

void job::read_signals() {
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal)
    take_signal(static_cast<int>(signal.ssi_signo), signal.ssi_code == SI_KERNEL);
}

void job::take_signal(int signal, bool by_terminal) {
  switch (signal) {
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
      if (++signals_seen_ > 1) {
        if (!exit_code_) exit_code_ = exit_signal + signal;
        is_ending_ = true;
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

void job::signal_ranks(int signal, bool by_terminal) {
  if (launched_.control.open()) (void)send_message(launched_.control.get(), order{signal, by_terminal ? 1 : 0});
}

// Ends the job, unless it is ending already: the first reason counts.
void job::fail(const end_reason& reason) {
  if (is_ending_) return;
  is_ending_ = true;
  exit_code_ = reason.exit_code;
  failures_.note_reported();
  say(reason.text);
  signal_ranks(SIGTERM);
  signal_ranks(SIGCONT);
  kill_at_ = after(options_.grace_s);
}

void job::complain(const std::optional<std::string>& complaint) {
  if (complaint) fail({exit_launcher, *complaint});
}

void job::end_after_reports(const end_reason& reason) {
  if (is_ending_ || reports_.is_end_pending()) return;
  if (!reports_.try_ask_before_end(reason)) fail(reason);
}

}  // namespace weft::run
