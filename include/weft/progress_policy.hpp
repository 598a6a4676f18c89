// Which devices a thread polls besides its own: the answer to the attentiveness problem (yan2025-mpi-extensions, 5.2).
//
// With a device for each thread, messages for a device whose thread computes wait until it is done, though other
// threads may be idle. Under every policy but `local`, those look after it meanwhile.
#pragma once

#include <cstdint>

namespace weft {

/// What a call of progress that has moved nothing on its own device polls besides. Only devices that are shared are
/// polled for others, and only where nobody else is at it; nothing is polled besides while the own device is busy.
enum class progress_policy : std::uint8_t {
  local,     ///< no other; once in 64 such calls the default device, as under every policy
  random,    ///< one other, drawn at random
  all,       ///< every other
  adaptive,  ///< those that nobody has polled for some microseconds, and at every call those where it found something
};

/// As `WEFT_PROGRESS_POLICY` calls it.
[[nodiscard]] constexpr const char* name_of(progress_policy policy) noexcept {
  switch (policy) {
    case progress_policy::local: return "local";
    case progress_policy::random: return "random";
    case progress_policy::all: return "all";
    case progress_policy::adaptive: return "adaptive";
  }
  return "unknown";
}

}  // namespace weft
