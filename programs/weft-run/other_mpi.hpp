// SPDX-License-Identifier: BSD-3-Clause
// Finds out that ranks use another MPI library, by which each of them is a job of its own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "weft-run/program.hpp"

namespace weft::run {

/// While no rank has joined the job, the files that its processes have mapped are looked at, at first every few
/// milliseconds, later less often. Where a program ends before it is looked at, its file says which libraries it needs.
class other_mpi {
 public:
  using clock = std::chrono::steady_clock;

  /// Looks at the processes that descend from `ancestor`, if it is time.
  void look(pid_t ancestor);
  /// When it is time again; nothing once a library is found, or after `stop`.
  [[nodiscard]] const std::optional<clock::time_point>& look_at() const noexcept { return look_at_; }
  /// A rank has joined the job, or a line about the library was taken.
  void stop() noexcept;

  /// Takes the line about the library, when a rank of `ended` has ended; nothing where there is none.
  [[nodiscard]] std::optional<std::string> take_line(const program& ended, std::uint32_t rank);

 private:
  struct use {
    std::string rank;  // as text; empty: unknown
    std::string library;
  };
  [[nodiscard]] static std::optional<use> find_in(pid_t process);

  std::chrono::milliseconds interval_{5};
  std::optional<clock::time_point> look_at_ = clock::now() + interval_;
  std::optional<use> found_;
  bool is_over_ = false;
};

}  // namespace weft::run
