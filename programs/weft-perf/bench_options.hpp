// Where the threads of a measurement run, as the command line says.
#pragma once

#include <cstdint>

namespace weft::perf {

struct bench_options {
  enum class pinning : std::uint8_t { core, none } pin = pinning::core;
  std::uint32_t yield_after = 0;  ///< 0: threads that share a core spin and yield (spin_phase.hpp)
};

}  // namespace weft::perf
