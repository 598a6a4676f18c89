// How to wait for a completion object: `device::wait`.
#pragma once

#include <chrono>
#include <cstdint>

namespace weft {

/// How a thread waits.
enum class wait_mode : std::uint8_t {
  spin,   ///< makes progress and polls again: fastest if each thread has a core of its own
  yield,  ///< as `spin`, but lets other threads run after `.spins` polls that found nothing
  park,   ///< sleeps after `.spins` polls that found nothing: needs no core then; a wake-up takes some microseconds
};

/// Options of `device::wait`.
struct wait_options {
  /// The longest time to wait.
  std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
  wait_mode mode = wait_mode::park;  ///< how it waits
  /// Polls that found nothing, each a call of `progress()` and some 60 ns, before the thread yields or sleeps.
  std::uint32_t spins = 256;
};

}  // namespace weft
