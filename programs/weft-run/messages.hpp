// SPDX-License-Identifier: BSD-3-Clause
// What weft-run and its guardian tell each other, a datagram each over a socket pair. The pair's hang-up is a message,
// too: the other one has died.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace weft::run {

/// weft-run -> guardian: send this signal to all ranks that are left.
struct order {
  std::int32_t signal;
  std::int32_t by_terminal;  ///< not 0: the terminal has sent it to weft-run's process group itself
};

/// What it takes to start a rank.
enum class start_step : std::int32_t {
  process,  ///< a child with its descriptors
  binding,  ///< to processors
  folder,   ///< its working directory
  program,  ///< in the child's place
};

/// guardian -> weft-run.
struct event {
  enum class kind : std::int32_t {
    start_failed,  ///< of `rank`, at `step`; value: the errno; no more are started
    ended,         ///< `rank`; value: as waitpid tells it
    cant_watch,    ///< the ranks' guardian can't wait for events, and ends them; value: the errno
    all_gone,      ///< no rank and no descendant is left; value: how many could not be killed
  };
  kind happened;
  std::uint32_t rank;
  std::int32_t value;
  start_step step = start_step::process;
};

/// False if the other end is gone.
template <class T>
bool send_message(int fd, const T& message) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  for (;;) {
    if (::send(fd, &message, sizeof message, MSG_NOSIGNAL) == sizeof message) return true;
    if (errno != EINTR) return false;
  }
}

enum class received : std::uint8_t { message, nothing, hang_up };

/// Never waits.
template <class T>
received receive_message(int fd, T& message) noexcept {
  for (;;) {
    const ssize_t n = ::recv(fd, &message, sizeof message, MSG_DONTWAIT);
    if (n == sizeof message) return received::message;
    // The other end has ended with one of our messages unread: that is an error once, before the messages that it has
    // sent.
    if (n < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    return n < 0 && errno == EAGAIN ? received::nothing : received::hang_up;
  }
}

}  // namespace weft::run
