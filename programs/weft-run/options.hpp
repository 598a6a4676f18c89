// SPDX-License-Identifier: BSD-3-Clause
// The command line of weft-run, and that of mpiexec, which is weft-run by another name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft-run/program.hpp"

namespace weft::run {

inline constexpr std::uint32_t ranks_max = 4096;
inline constexpr const char* stuck_after = "10";  ///< WEFT_STUCK_AFTER of ranks, unless the user has set it
inline constexpr int exit_usage = 2;              ///< a wrong command line or environment
inline constexpr int exit_launcher = 1;           ///< the job could not be run, for a reason that is no rank's
inline constexpr int exit_timeout = 124;          ///< as timeout(1)
inline constexpr int exit_not_executable = 126;
inline constexpr int exit_not_found = 127;
inline constexpr int exit_signal = 128;  ///< plus the signal, as a shell says it

/// `portion`: an equal part of the cores that the job may use, where there is at least one for each rank.
enum class bind_object : std::uint8_t { none, portion, hwthread, core, socket, numa };

struct bind_rule {
  bind_object object = bind_object::portion;
  std::uint32_t each = 1;  ///< so many of them for a rank
};

struct options {
  std::uint32_t ranks = 0;
  bool prefix = false;
  bool quiet = false;
  bool mpi = false;  ///< Weft's MPI library is loaded instead of another one that the program was linked with
  bind_rule bind;
  double timeout_s = 0;                   ///< 0: none
  double grace_s = 5;                     ///< between asking ranks to end and killing them
  double notice_s = 60;                   ///< from a rank's end to a line about ranks that still run; 0: no line
  double linger_s = 0;                    ///< from a rank's end to the end of the job; 0: none
  bool asks = true;                       ///< ranks answer when weft-run asks for the events they wait for
  std::optional<std::uint64_t> sim_seed;  ///< of a simulated network; 0: to be drawn
  std::vector<std::string> environment;   ///< NAME=VALUE, of all ranks
  std::vector<program> programs;
  std::vector<std::string> notes;  ///< lines for the user about options, before the job starts
};

/// Prints the notes on standard error, after the name of the launcher; a quiet job has none.
void print_notes(const char* launcher, const options& chosen);

/// Options after the program's name belong to the program. **Returns** nothing where weft-run is to exit with
/// `exit_code` now: help was asked for, or the command line is wrong (and the reason is printed).
[[nodiscard]] std::optional<options> parse_options(int argc, char** argv, int& exit_code);

/// The same of a command line of MPI's launcher, as in `mpiexec -n 2 a : -n 1 b` (MPI 5.0, 11.5).
[[nodiscard]] std::optional<options> parse_mpiexec(int argc, char** argv, int& exit_code);
/// Whether weft-run was started by a name of MPI's launcher: `mpiexec` or `mpirun`.
[[nodiscard]] bool is_mpiexec(std::string_view called);

/// `auto`, `none`, `core`, `core:2` and so on. Returns nothing for any other text.
[[nodiscard]] std::optional<bind_rule> parse_bind(const std::string& text);

}  // namespace weft::run
