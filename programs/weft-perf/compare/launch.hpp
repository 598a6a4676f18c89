// SPDX-License-Identifier: BSD-3-Clause
// Other programs: found, run for a bounded time, and read.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::perf {

struct launched {
  int exit_code = -1;  ///< 128 plus the signal; 124: it took too long and was killed
  std::string output;
  std::string errors;

  /// The last line on standard error, for a message.
  [[nodiscard]] std::string last_error() const;
  /// Why it failed: its last line, or that it took longer than `seconds`.
  [[nodiscard]] std::string why_it_failed(double seconds) const;
};

/// A bound for programs that hang: on a machine with far too much work a program of a tenth of a second takes half a
/// minute.
inline constexpr double hang_limit_s = 300;

using variables = std::map<std::string, std::string>;

/// Runs `command` in a process group of its own, without the variables of a launcher of ranks, with
/// `more` added to it, and nothing to read. **Blocking**: until it ends, `seconds` at most.
[[nodiscard]] launched run_program(const std::vector<std::string>& command, double seconds, const variables& more = {});

/// Runs `server`, and `client` a moment later; what the client printed. Both are gone when this returns.
[[nodiscard]] launched run_pair(const std::vector<std::string>& server, const std::vector<std::string>& client,
                                double seconds, const variables& more = {});

/// Where `name` lies in PATH; nothing: it is not there.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

/// A directory of one's own, gone with the object.
class temporary_folder {
 public:
  temporary_folder();
  ~temporary_folder();
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace weft::perf
