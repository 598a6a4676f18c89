// SPDX-License-Identifier: BSD-3-Clause
// Children of fork(): the steps of a child, how it ended, and at which step.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/waiting.hpp"

namespace weft::test {

/// A child writes it and its parent reads it: the child's present step, and its standard error.
class child_report {
 public:
  child_report()
      : step_{static_cast<std::atomic<const char*>*>(::mmap(
            nullptr, sizeof(std::atomic<const char*>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))},
        said_{std::tmpfile()} {
    if (step_ == MAP_FAILED || said_ == nullptr) std::abort();
  }
  child_report(const child_report&) = delete;
  child_report& operator=(const child_report&) = delete;
  ~child_report() {
    std::fclose(said_);
    ::munmap(step_, sizeof(std::atomic<const char*>));
  }

  /// In the child: it begins `step`, a literal.
  void at(const char* step) noexcept { step_->store(step, std::memory_order_relaxed); }  // relaxed: a process each
  /// In the child: its standard error from now on is for `said`.
  void listen() noexcept { ::dup2(::fileno(said_), STDERR_FILENO); }

  /// In the parent, once the child has ended.
  [[nodiscard]] std::string step() const {
    const char* const last = step_->load(std::memory_order_relaxed);  // relaxed: read once the child has ended
    return last == nullptr ? "before its first step" : last;
  }
  [[nodiscard]] std::string said() const {
    std::array<char, 4096> text{};
    std::rewind(said_);
    return {text.data(), std::fread(text.data(), 1, text.size(), said_)};
  }

 private:
  std::atomic<const char*>* step_;
  std::FILE* said_;
};

/// How a child ended.
struct child_end {
  std::string fault;  ///< empty where it came to its end; else the fault, and at which step
  std::string said;   ///< on standard error
};

/// Forks, and lets the child call `work(report)` and end. **Blocking**: until it has ended; it is killed past the
/// bound.
template <class Work>
[[nodiscard]] child_end end_of_child(const Work& work) {
  child_report report;
  const pid_t child = ::fork();
  if (child == 0) {
    report.listen();
    work(report);
    ::_exit(0);
  }
  if (child < 0) return {"there is no child: fork() failed", {}};
  int status = 0;
  const bool has_ended = eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; });
  if (!has_ended) {
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return {"it hangs: " + report.step(), report.said()};
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {{}, report.said()};
  return {(WIFSIGNALED(status) ? "it died by signal " + std::to_string(WTERMSIG(status))
                               : "it ended with code " + std::to_string(WEXITSTATUS(status))) +
              ": " + report.step(),
          report.said()};
}

}  // namespace weft::test
