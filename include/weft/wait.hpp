// How to wait for a completion object: `device::wait`.
#pragma once

#include <chrono>
#include <cstdint>

namespace weft {

/// What a thread does that waits in vain.
enum class wait_mode : std::uint8_t {
  spin,   ///< makes progress and looks again: the quickest where each thread has a core of its own
  yield,  ///< the same, and lets other threads run in between once it has looked `.spins` times
  park,   ///< sleeps once it has looked `.spins` times: costs no core, and a wake-up takes some microseconds
};

/// Options of `device::wait`.
struct wait_options {
  /// How long to wait at most.
  std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
  wait_mode mode = wait_mode::park;  ///< what it does in vain
  /// Looks, each with a call of progress, before the first time that it yields or sleeps; some 60 ns each.
  std::uint32_t spins = 256;
};

}  // namespace weft
