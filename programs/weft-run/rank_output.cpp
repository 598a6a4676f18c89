// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/rank_output.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "boot/backends.hpp"

namespace weft::run {
namespace {

constexpr std::size_t read_bytes = std::size_t{64} << 10;

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

}  // namespace

std::string name_ranks(const std::vector<std::uint32_t>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", boot::list_of_ranks(ranks));
}

rank_output::rank_output(event_loop& loop, bool is_quiet, loss on_loss)
    : loop_{loop},
      is_quiet_{is_quiet},
      on_loss_{std::move(on_loss)},
      output_{STDOUT_FILENO, is_terminal(STDOUT_FILENO)},
      own_errors_{STDERR_FILENO, is_terminal(STDERR_FILENO)},
      errors_{same_file(STDOUT_FILENO, STDERR_FILENO) ? &output_ : &own_errors_},
      may_prompt_{may_answer(STDIN_FILENO)} {}

void rank_output::add(descriptor output, descriptor errors, const std::string& prefix, reports& apart) {
  const auto first = static_cast<std::uint32_t>(pipes_.size());
  pipes_.push_back({std::move(output), {output_, first, prefix}});
  pipes_.push_back({std::move(errors), {*errors_, first + 1, prefix, &apart}});
  open_ += 2;
}

void rank_output::say(const std::string& text) {
  if (is_quiet_) return;
  errors_->take(sink::own_voice, {}, fmt::format("weft-run: {}\n", text));
  flush(*errors_);
}

void rank_output::take(const std::string& lines) { errors_->take(sink::own_voice, {}, lines); }

void rank_output::refresh_watches() {
  const auto set = [&](bool& is_watched, bool wanted, int fd, std::uint32_t events, ready_source origin) {
    if (is_watched == wanted) return;
    if (wanted)
      loop_.watch(fd, events, origin);
    else
      loop_.unwatch(fd);
    is_watched = wanted;
  };
  set(sink_watched_[0], !output_.empty(), STDOUT_FILENO, EPOLLOUT, {event_source::sink, 0});
  set(sink_watched_[1], !own_errors_.empty(), STDERR_FILENO, EPOLLOUT, {event_source::sink, 1});
  for (std::uint32_t i = 0; i < pipes_.size(); ++i) {
    pipe& each = pipes_[i];
    if (each.fd.open())
      set(each.is_watched, !each.lines.target().full(), each.fd.get(), EPOLLIN, {event_source::stream, i});
  }
}

void rank_output::read(std::uint32_t index) {
  pipe& source = pipes_[index];
  if (!source.fd.open() || source.lines.target().full()) return;
  static const std::unique_ptr<char[]> bytes{new char[read_bytes]};
  const ssize_t n = ::read(source.fd.get(), bytes.get(), read_bytes);
  if (n > 0) {
    source.bytes_owed -= std::min(source.bytes_owed, static_cast<std::size_t>(n));
    source.lines.append({bytes.get(), static_cast<std::size_t>(n)});
    watch_for_prompt(index);
    flush(source.lines.target());
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    source.lines.show_begun();
    source.fd.close();
    --open_;
  }
}

// A text that rank 0 has written without a newline may ask for its next input: it is shown when nothing follows for a
// moment.
void rank_output::watch_for_prompt(std::uint32_t index) {
  if (index > 1 || !may_prompt_) return;
  const bool has_begun = pipes_[0].lines.has_begun() || pipes_[1].lines.has_begun();
  prompt_at_ = has_begun ? deadline{clock::now() + std::chrono::milliseconds{50}} : std::nullopt;
}

void rank_output::check_prompt(clock::time_point now) {
  if (!take_passed(prompt_at_, now)) return;
  for (const std::uint32_t index : {0U, 1U}) pipes_[index].lines.show_begun();
}

void rank_output::drain(std::uint32_t rank) {
  for (const std::uint32_t index : {2 * rank, 2 * rank + 1}) {
    pipe& each = pipes_[index];
    for (int reads = 0; reads < 64 && each.fd.open() && !each.lines.target().full(); ++reads) {
      int waiting = 0;
      if (::ioctl(each.fd.get(), FIONREAD, &waiting) != 0 || waiting == 0) break;
      read(index);
    }
  }
}

void rank_output::flush() {
  flush(output_);
  flush(*errors_);
}

void rank_output::flush(sink& target) {
  const int problem = target.flush();
  if (problem == 0) return;
  // The reader of our output has closed it: the ranks learn it as they would from a pipe of their own.
  for (pipe& each : pipes_) {
    if (&each.lines.target() != &target || !each.fd.open()) continue;
    each.fd.close();
    --open_;
  }
  is_lost_ = true;
  const char* const name = target.fd() == STDOUT_FILENO ? "standard output" : "standard error";
  if (problem == EPIPE)
    return on_loss_(fmt::format("the reader of {} has closed it: output of the ranks is lost", name), false);
  on_loss_(fmt::format("can't write to {}: {}; output of the ranks is lost", name, std::strerror(problem)), true);
}

void rank_output::note_end() {
  for (pipe& each : pipes_) {
    int waiting = 0;
    if (each.fd.open() && ::ioctl(each.fd.get(), FIONREAD, &waiting) == 0)
      each.bytes_owed = static_cast<std::size_t>(waiting);
  }
}

// Bytes of the ranks, or the end that only a read shows.
bool rank_output::has_more_of_ranks(const pipe& each) {
  if (!each.fd.open()) return false;
  pollfd state{each.fd.get(), 0, 0};
  return each.bytes_owed > 0 || (::poll(&state, 1, 0) > 0 && (state.revents & POLLHUP) != 0);
}

void rank_output::leave_held_pipes() {
  if (std::any_of(pipes_.begin(), pipes_.end(), has_more_of_ranks)) return;
  std::array<std::vector<std::uint32_t>, 2> ranks;
  for (std::uint32_t i = 0; i < pipes_.size(); ++i) {
    pipe& each = pipes_[i];
    if (!each.fd.open()) continue;
    each.lines.show_begun();
    each.fd.close();
    --open_;
    ranks[i % 2].push_back(i / 2);
  }
  for (const std::uint32_t kind : {0U, 1U}) {
    if (ranks[kind].empty()) continue;
    say(fmt::format("a process outside of the job holds the {} of {}; what it writes there from now on is lost",
                    kind == 0 ? "standard output" : "standard error", name_ranks(ranks[kind])));
  }
}

}  // namespace weft::run
