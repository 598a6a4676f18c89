// SPDX-License-Identifier: BSD-3-Clause
// Where the threads of a measurement run, how the bytes of its messages lie, and how long ones travel, as the command
// line says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/long_messages.hpp"

#include "weft-perf/report/point.hpp"

namespace weft::perf {

struct bench_options {
  enum class pinning : std::uint8_t { core, none } pin = pinning::core;
  std::uint32_t yield_after = 0;                   ///< 0: threads that share a core spin and yield (spin_phase.hpp)
  std::size_t piece_bytes = 0;                     ///< of `bandwidth`: messages are lists of such pieces; 0: one buffer
  strided blocks{};                                ///< of `latency` and `bandwidth`: how the bytes of messages lie
  std::vector<weft::long_messages> long_messages;  ///< each has a round after the other; empty: one, as it is set
};

}  // namespace weft::perf
