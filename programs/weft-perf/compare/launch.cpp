// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/compare/launch.hpp"
#include "weft-perf/report/clock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include "weft/error.hpp"

extern char** environ;

namespace weft::perf {
namespace {

std::vector<std::string> environment_with(const variables& more) {
  std::vector<std::string> out;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text{*each};
    const bool of_a_launcher = text.starts_with("PMI") || text.starts_with("OMPI_") || text.starts_with("WEFT_");
    if (!of_a_launcher && !more.contains(std::string{text.substr(0, text.find('='))})) out.emplace_back(text);
  }
  for (const auto& [name, value] : more) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& each : texts) out.push_back(each.data());
  out.push_back(nullptr);
  return out;
}

class descriptor {
 public:
  explicit descriptor(int number = -1) noexcept : number_{number} {}
  descriptor(descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~descriptor() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int get() const noexcept { return number_; }
  void reset() { *this = descriptor{}; }

 private:
  int number_;
};

// A child with its output and errors on pipes. Whatever happens, its whole process group is gone with the object.
class child {
 public:
  child(std::vector<std::string> command, const variables& more) {
    int out[2];
    int err[2];
    if (pipe2(out, O_CLOEXEC) != 0) throw error{errc::out_of_memory, "no pipe for a program's output"};
    out_ = descriptor{out[0]};
    const descriptor out_end{out[1]};
    if (pipe2(err, O_CLOEXEC) != 0) throw error{errc::out_of_memory, "no pipe for a program's output"};
    err_ = descriptor{err[0]};
    const descriptor err_end{err[1]};
    std::vector<std::string> environment = environment_with(more);
    const std::vector<char*> arguments = pointers_to(command);
    const std::vector<char*> settings = pointers_to(environment);
    pid_ = fork();
    if (pid_ < 0) throw error{errc::out_of_memory, fmt::format("can't start {}: {}", command[0], std::strerror(errno))};
    if (pid_ == 0) {
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int nothing = open("/dev/null", O_RDONLY);
      dup2(nothing, 0);
      dup2(out_end.get(), 1);
      dup2(err_end.get(), 2);
      execvpe(arguments[0], arguments.data(), settings.data());
      _exit(127);
    }
    setpgid(pid_, pid_);
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    kill(-pid_, SIGKILL);
    if (!reaped_) waitpid(pid_, nullptr, 0);
  }

  launched finish(double seconds) {
    launched result;
    const auto end = clock::now() + std::chrono::duration<double>(seconds);
    std::array<pollfd, 2> open{{{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}}};
    while (open[0].fd >= 0 || open[1].fd >= 0) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock::now()).count();
      if (left <= 0) {
        result.exit_code = 124;
        return result;
      }
      if (poll(open.data(), open.size(), static_cast<int>(left)) < 0 && errno != EINTR) break;
      read_from(open[0], result.output);
      read_from(open[1], result.errors);
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    reaped_ = true;
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
  }

 private:
  static void read_from(pollfd& source, std::string& into) {
    if (source.fd < 0 || source.revents == 0) return;
    std::array<char, 4096> buffer;
    const ssize_t got = read(source.fd, buffer.data(), buffer.size());
    if (got > 0)
      into.append(buffer.data(), static_cast<std::size_t>(got));
    else if (got == 0 || errno != EINTR)
      source.fd = -1;
  }

  pid_t pid_ = -1;
  bool reaped_ = false;
  descriptor out_;
  descriptor err_;
};

}  // namespace

std::string launched::last_error() const {
  std::istringstream lines{errors.empty() ? output : errors};
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t-") != std::string::npos) last = line;
  }
  return last.empty() ? fmt::format("exit code {}", exit_code) : last;
}

std::string launched::why_it_failed(double seconds) const {
  return exit_code == 124 ? fmt::format("not through after {:.0f} s", seconds) : last_error();
}

launched run_program(const std::vector<std::string>& command, double seconds, const variables& more) {
  return child{command, more}.finish(seconds);
}

launched run_pair(const std::vector<std::string>& server, const std::vector<std::string>& client, double seconds,
                  const variables& more) {
  child waiting{server, more};
  // Neither says when it listens: a client that comes too early is sent again.
  launched result;
  const auto end = clock::now() + std::chrono::duration<double>(seconds);
  for (int attempt = 0; attempt < 50 && clock::now() < end; ++attempt) {
    usleep(40'000);
    result = run_program(client, std::chrono::duration<double>(end - clock::now()).count(), more);
    if (result.exit_code == 0 || result.exit_code == 124) break;
  }
  return result;
}

std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? std::optional{name} : std::nullopt;
  const char* path = std::getenv("PATH");
  std::istringstream folders{path == nullptr ? "/usr/bin:/bin" : path};
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = folder + "/" + name;
    if (!folder.empty() && access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

temporary_folder::temporary_folder() : path_{(std::filesystem::temp_directory_path() / "weft-perf-XXXXXX").string()} {
  if (mkdtemp(path_.data()) == nullptr) {
    throw error{errc::invalid_state, fmt::format("can't make a directory {}: {}", path_, std::strerror(errno))};
  }
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace weft::perf
