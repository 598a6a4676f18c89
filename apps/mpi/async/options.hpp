// SPDX-License-Identifier: BSD-3-Clause
// The user's choices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure.hpp"

namespace mpi_async {

struct command_line {
  std::vector<measured> measures{measured::tasks};
  std::vector<int> tasks{10};
  std::vector<std::uint32_t> delays_ns{0};
  std::vector<int> threads{1};
  double seconds = 0.5;
  int level = 0;  ///< the level of threads to ask for
  bool json = false;
  int exit_code = -1;  ///< not negative: there is nothing to do but to print `text` and to exit
  std::string text;
};

/// Understands the arguments of `mpi-async`. Never exits or prints. `library` is the version of the MPI library.
[[nodiscard]] command_line read_command_line(int argc, const char* const* argv, const std::string& library);

/// As the user writes it.
[[nodiscard]] const char* name_of(measured kind) noexcept;

}  // namespace mpi_async
