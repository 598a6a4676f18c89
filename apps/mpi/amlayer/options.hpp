// SPDX-License-Identifier: BSD-3-Clause
// The user's choices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traffic.hpp"

namespace mpi_amlayer {

struct command_line {
  layer_form form = layer_form::one;
  completion_kind completion = completion_kind::poll;
  traffic_kind traffic = traffic_kind::ping_pong;
  std::vector<int> threads{1};
  std::vector<std::uint32_t> bytes{8};
  std::uint32_t messages = 10'000;
  std::uint32_t window = 64;
  int vcis = 0;  ///< 0: as many as threads
  int yield_after = 16;
  bool json = false;
  int exit_code = -1;  ///< not negative: there is nothing to do but to print `text` and to exit
  std::string text;
};

/// Understands the arguments of `mpi-amlayer`. Never exits or prints. `library` is the version of the MPI library.
[[nodiscard]] command_line read_command_line(int argc, const char* const* argv, const std::string& library);

/// As the user writes them.
[[nodiscard]] const char* name_of(layer_form form) noexcept;
[[nodiscard]] const char* name_of(completion_kind completion) noexcept;
[[nodiscard]] const char* name_of(traffic_kind traffic) noexcept;

}  // namespace mpi_amlayer
