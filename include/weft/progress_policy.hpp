// SPDX-License-Identifier: BSD-3-Clause
// Which other devices a thread polls: the answer to the attentiveness problem (yan2025-mpi-extensions, 5.2).
//
// If each thread has a device of its own, messages for a thread that computes wait until it polls again, though other
// threads may be idle. Under every policy but `local` idle threads poll that device, too.
#pragma once

#include <cstdint>

namespace weft {

/// Which other devices a call of `progress()` polls if it has moved nothing on its own device. It polls only shared
/// devices, and only if no other thread polls them at that moment.
enum class progress_policy : std::uint8_t {
  local,     ///< none; but one of 64 such calls polls the default device, as under every policy
  random,    ///< one, drawn at random
  all,       ///< all
  adaptive,  ///< devices that no thread has polled for some microseconds, and devices where its last poll found
             ///< something
};

/// The policy's name in `WEFT_PROGRESS_POLICY`. **Blocking**: never. **Threads**: any. **Errors**: none.
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
