// SPDX-License-Identifier: BSD-3-Clause
// A counter of cycles: for times that are compared with each other, and whose error costs speed alone. It may differ
// between cores, and its rate is known by measuring it.
//
// Cost: some 20 cycles, where the system's clock takes three times as long.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace weft::base {

/// **Threads**: any. **Blocking**: never.
[[nodiscard]] inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(clock::now().time_since_epoch().count());
#endif
}

}  // namespace weft::base
