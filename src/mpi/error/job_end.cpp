// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/error/job_end.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace weft::mpi {
namespace {

constexpr timespec time_max{.tv_sec = 1, .tv_nsec = 0};
constexpr timespec look_period{.tv_sec = 0, .tv_nsec = 1'000'000};
constexpr int looks_max = 1'000;

// The number of the thread that ends the process; 0: none does.
constinit std::atomic<pid_t> ending_thread{0};

// A thread that ends the process after `time_max`, whatever the calling thread does by then. The C library does not
// know of it, so that it takes no memory and no lock, which another thread may hold for ever: it shares the calling
// thread's thread-local memory, and its function calls the kernel alone.
constinit int late_exit_code = 0;
alignas(64) constinit std::array<std::byte, 16 * 1024> stack_of_watch{};

__attribute__((no_sanitize("thread", "address", "undefined"))) int end_late(void* /*unused*/) {
  ::syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time_max, nullptr);
  ::syscall(SYS_exit_group, late_exit_code);
  return 0;
}

// Returns whether the system gives a thread.
bool start_watch(int exit_code) noexcept {
  late_exit_code = exit_code;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits it, and runs no handler of the program
  const int made = ::clone(end_late, stack_of_watch.data() + stack_of_watch.size(),
                           CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made != -1;
}

bool has_room(std::FILE* stream) noexcept {
  pollfd waited{.fd = ::fileno(stream), .events = POLLOUT, .revents = 0};
  return ::poll(&waited, 1, 0) == 1;
}

// A stream that another thread holds has its bytes before or behind this line.
void write_line(std::string_view line) noexcept {
  if (::ftrylockfile(stderr) == 0) {
    std::fwrite(line.data(), 1, line.size(), stderr);
    ::funlockfile(stderr);
  } else {
    static_cast<void>(::write(::fileno(stderr), line.data(), line.size()) == 0);
  }
}

// Returns whether it has been written out, or can't be.
bool try_flush(std::FILE* stream) noexcept {
  if (::ftrylockfile(stream) != 0) return false;
  std::fflush(stream);
  ::funlockfile(stream);
  return true;
}

void flush(bool is_watched) noexcept {
  std::array<std::FILE*, 2> left{stderr, stdout};
  for (int look = 0; look < looks_max; ++look) {
    bool is_over = true;
    for (std::FILE*& stream : left) {
      if (stream == nullptr) continue;
      const bool may_wait = is_watched || has_room(stream);
      if (may_wait && try_flush(stream)) {
        stream = nullptr;
      } else {
        is_over = false;
      }
    }
    if (is_over) return;
    ::nanosleep(&look_period, nullptr);
  }
}

}  // namespace

void end_job(int exit_code, const char* format, ...) noexcept {
  const int code = (exit_code & 0xff) != 0 ? exit_code & 0xff : 1;
  const auto me = static_cast<pid_t>(::syscall(SYS_gettid));
  pid_t first = 0;
  // [hint] Carries nothing but the number.
  if (!ending_thread.compare_exchange_strong(first, me, std::memory_order_relaxed)) {
    // The call is in a signal handler, or in a stream of the program's own: this is the thread that would go on.
    if (first != me) {
      ::nanosleep(&time_max, nullptr);
      ::nanosleep(&time_max, nullptr);  // the other one may be a thread of the parent: this process is not ended yet
    }
    std::_Exit(code);
  }
  const bool is_watched = start_watch(code);
  std::array<char, 2048> line;
  std::va_list values;
  va_start(values, format);
  const int wanted = std::vsnprintf(line.data(), line.size() - 1, format, values);
  va_end(values);
  const auto length = std::min(static_cast<std::size_t>(std::max(wanted, 0)), line.size() - 2);
  line[length] = '\n';
  if (is_watched || has_room(stderr)) write_line({line.data(), length + 1});
  flush(is_watched);
  std::_Exit(code);
}

}  // namespace weft::mpi
