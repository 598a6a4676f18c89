// Where the threads of a measurement run, and how the bytes of its messages lie, as the command line says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft-perf/report/point.hpp"

namespace weft::perf {

struct bench_options {
  enum class pinning : std::uint8_t { core, none } pin = pinning::core;
  std::uint32_t yield_after = 0;  ///< 0: threads that share a core spin and yield (spin_phase.hpp)
  std::size_t piece_bytes = 0;    ///< of `bandwidth`: messages are lists of such pieces; 0: one buffer
  strided blocks{};               ///< of `latency` and `bandwidth`: how the bytes of messages lie
};

}  // namespace weft::perf
