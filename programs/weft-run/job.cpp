// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/job.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <numeric>

namespace weft::run {
namespace {

constexpr std::size_t read_bytes = std::size_t{64} << 10;

sigset_t forwarded_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGTTIN, SIGCONT, SIGWINCH}) {
    ::sigaddset(&set, signal);
  }
  return set;
}

bool same_file(int a, int b) {
  struct stat first {};
  struct stat second {};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

// Whether the bytes read from there may depend on those written before.
bool may_answer(int fd) {
  struct stat kind {};
  return is_terminal(fd) || (::fstat(fd, &kind) == 0 && (S_ISFIFO(kind.st_mode) || S_ISSOCK(kind.st_mode)));
}

std::uint32_t columns_of(int fd) {
  if (!is_terminal(fd)) return 0;
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80U;
}

program_plan make_plan(const options& chosen, const inherited_state& inherited) {
  program_plan plan;
  plan.ranks = chosen.ranks;
  plan.terminal_columns = columns_of(STDERR_FILENO);
  plan.launcher = ::getpid();
  plan.terminal_group = is_terminal(STDIN_FILENO) ? ::getpgrp() : 0;
  plan.inherited = inherited;
  return plan;
}

}  // namespace

job::job(const options& chosen, const inherited_state& inherited, const binding& bind, char** argv)
    : options_{chosen},
      output_{STDOUT_FILENO, is_terminal(STDOUT_FILENO)},
      errors_own_{STDERR_FILENO, is_terminal(STDERR_FILENO)},
      errors_{same_file(STDOUT_FILENO, STDERR_FILENO) ? &output_ : &errors_own_},
      server_{chosen.ranks, chosen.programs},
      reports_{chosen.ranks},
      running_(chosen.ranks),
      failures_{chosen.ranks},
      answers_come_{may_answer(STDIN_FILENO)} {
  std::iota(running_.begin(), running_.end(), 0U);
  const sigset_t signals = forwarded_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);  // before there are ranks: none shall be missed
  signals_ = descriptor{::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)};
  if (!signals_.open()) fail_by_errno("make a descriptor for signals");
  epoll_ = descriptor{::epoll_create1(EPOLL_CLOEXEC)};
  if (!epoll_.open()) fail_by_errno("make an epoll descriptor");
  program_plan plan = make_plan(chosen, inherited);
  plan.ask_word = asks_.make();
  plan.ask_fd = asks_.fd();
  launched_ = launch(chosen, std::move(plan), bind, argv);
  watch(launched_.control.get(), EPOLLIN, source::control, 0);
  watch(signals_.get(), EPOLLIN, source::signals, 0);
  streams_.reserve(std::size_t{2} * chosen.ranks);
  for (std::uint32_t rank = 0; rank < chosen.ranks; ++rank) {
    launcher_ends& ends = launched_.ranks[rank];
    const std::string prefix = chosen.prefix ? fmt::format("[{}] ", rank) : std::string{};
    streams_.push_back({std::move(ends.output), {output_, 2 * rank, prefix}});
    streams_.push_back({std::move(ends.errors), {*errors_, 2 * rank + 1, prefix, &reports_}});
    watch(ends.pmi.get(), EPOLLIN, source::pmi, rank);
  }
  streams_open_ = streams_.size();
  if (chosen.timeout_s > 0) timeout_at_ = after(chosen.timeout_s);
}

int job::run() {
  clock::time_point checked_at = clock::now();
  while (!over()) {
    refresh_watches();
    wait_for_events(checked_at);
    report_first_failure();
    checked_at = check_deadlines();
    check_reports();
    flush(output_);
    flush(*errors_);
  }
  if (reports_.has_some()) show_reports();
  if (!all_output_taken()) say("interrupted twice: output of the ranks that its reader has not taken is lost");
  if (launched_.control.open()) ::waitpid(launched_.guardian, nullptr, 0);  // it has reported its end
  return exit_code_.value_or(output_lost_ ? exit_signal + SIGPIPE : 0);
}

// A slow reader is waited for, unless the user has asked for the end twice.
bool job::over() const {
  if (!all_gone_) return false;
  return all_output_taken() || (signals_seen_ > 1 && give_up_at_ && clock::now() >= *give_up_at_);
}

// Of a stream whose writers in the job are gone: bytes of theirs, or the end that only a read shows.
bool job::has_more_of_ranks(const stream& s) {
  if (!s.fd.open()) return false;
  pollfd state{s.fd.get(), 0, 0};
  return s.bytes_owed > 0 || (::poll(&state, 1, 0) > 0 && (state.revents & POLLHUP) != 0);
}

void job::watch(int fd, std::uint32_t events, source event_source, std::uint32_t index) {
  epoll_event wanted{};
  wanted.events = events;
  wanted.data.u64 = static_cast<std::uint64_t>(event_source) << 32 | index;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted) == 0) return;
  // Regular files can't be watched; they are always ready, which flush() finds out by itself.
  if (errno != EPERM || event_source != source::sink) fail_by_errno("watch a descriptor");
}

void job::unwatch(int fd) { (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

// A rank's output may have to wait now for a full sink, or need not wait any more.
void job::refresh_watches() {
  const auto set = [&](bool& watched, bool wanted, int fd, std::uint32_t events, source event_source,
                       std::uint32_t index) {
    if (watched == wanted) return;
    if (wanted)
      watch(fd, events, event_source, index);
    else
      unwatch(fd);
    watched = wanted;
  };
  set(sink_watched_[0], !output_.empty(), STDOUT_FILENO, EPOLLOUT, source::sink, 0);
  set(sink_watched_[1], !errors_own_.empty(), STDERR_FILENO, EPOLLOUT, source::sink, 1);
  for (std::uint32_t i = 0; i < streams_.size(); ++i) {
    stream& s = streams_[i];
    if (s.fd.open()) set(s.watched, !s.lines.target().full(), s.fd.get(), EPOLLIN, source::stream, i);
  }
}

// `checked_at`: the time for which deadlines were checked; one that has come since then is still to be seen to.
int job::milliseconds_to_wait(clock::time_point checked_at) const {
  std::optional<clock::time_point> next;
  for (const auto& deadline : {timeout_at_, notice_at_, linger_at_, reports_at_, kill_at_, prompt_at_, give_up_at_,
                               failures_.look_again_at(), other_mpi_.look_at()}) {
    if (deadline && (!next || *deadline < *next)) next = deadline;
  }
  if (give_up_at_ && next == give_up_at_ && checked_at >= *next) return -1;  // only a slow reader is left to wait for
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
}

void job::wait_for_events(clock::time_point checked_at) {
  std::array<epoll_event, 64> ready;
  const int n =
      ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), milliseconds_to_wait(checked_at));
  if (n < 0 && errno != EINTR) fail_by_errno("wait for events");
  for (int i = 0; i < n; ++i) {
    const std::uint64_t tag = ready[static_cast<std::size_t>(i)].data.u64;
    dispatch(static_cast<source>(tag >> 32), static_cast<std::uint32_t>(tag));
  }
}

void job::dispatch(source event_source, std::uint32_t index) {
  switch (event_source) {
    case source::control: return read_events();
    case source::signals: return read_signals();
    case source::sink: return flush(index == 0 ? output_ : errors_own_);
    case source::stream: return read_stream(index);
    case source::pmi: return serve_pmi(index);
  }
}

void job::read_stream(std::uint32_t index) {
  stream& s = streams_[index];
  if (!s.fd.open() || s.lines.target().full()) return;
  static const std::unique_ptr<char[]> bytes{new char[read_bytes]};
  const ssize_t n = ::read(s.fd.get(), bytes.get(), read_bytes);
  if (n > 0) {
    s.bytes_owed -= std::min(s.bytes_owed, static_cast<std::size_t>(n));
    s.lines.append({bytes.get(), static_cast<std::size_t>(n)});
    watch_for_prompt(index);
    flush(s.lines.target());
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    s.lines.show_begun();
    s.fd.close();
    --streams_open_;
  }
}

// A text that rank 0 has written without a newline may ask for its next input: it is shown when nothing follows for a
// moment.
void job::watch_for_prompt(std::uint32_t index) {
  if (index > 1 || !answers_come_) return;
  const bool begun = streams_[0].lines.has_begun() || streams_[1].lines.has_begun();
  prompt_at_ = begun ? std::optional{clock::now() + std::chrono::milliseconds{50}} : std::nullopt;
}

// Passes on the output of a rank so far, before weft-run writes a line about that rank.
void job::drain_rank(std::uint32_t rank) {
  for (const std::uint32_t index : {2 * rank, 2 * rank + 1}) {
    stream& s = streams_[index];
    for (int reads = 0; reads < 64 && s.fd.open() && !s.lines.target().full(); ++reads) {
      int waiting = 0;
      if (::ioctl(s.fd.get(), FIONREAD, &waiting) != 0 || waiting == 0) break;
      read_stream(index);
    }
  }
}

void job::flush(sink& to) {
  const int problem = to.flush();
  if (problem == 0) return;
  // The reader of our output has closed it: the ranks learn it as they would from a pipe of their own.
  for (stream& s : streams_) {
    if (&s.lines.target() != &to || !s.fd.open()) continue;
    s.fd.close();
    --streams_open_;
  }
  output_lost_ = true;
  const char* const which = to.fd() == STDOUT_FILENO ? "standard output" : "standard error";
  if (problem == EPIPE) {
    say(fmt::format("the reader of {} has closed it: output of the ranks is lost", which));
    return;
  }
  const std::string text =
      fmt::format("can't write to {}: {}; output of the ranks is lost", which, std::strerror(problem));
  if (ending_) say(text);
  fail(exit_launcher, text);
}

void job::serve_pmi(std::uint32_t rank) {
  const descriptor& socket = launched_.ranks[rank].pmi;
  std::array<char, 4096> bytes;
  ssize_t n = 0;
  while (socket.open() && (n = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)) > 0) {
    complain(server_.receive(rank, {bytes.data(), static_cast<std::size_t>(n)}));
    send_pmi_replies();
    if (const auto code = server_.abort_code()) {
      fail(std::clamp(*code & 255, 1, 255), fmt::format("rank {} asked for the end of the job", rank));
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

void job::read_signals() {
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal)
    take_signal(static_cast<int>(signal.ssi_signo), signal.ssi_code == SI_KERNEL);
}

}  // namespace weft::run
