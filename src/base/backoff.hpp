// SPDX-License-Identifier: BSD-3-Clause
// What a thread does while it waits for another one: spin a little, then yield, then sleep for longer and longer.
#pragma once

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::base {

class backoff {
 public:
  /// One step of waiting. Blocks for at most a millisecond.
  void pause() noexcept {
    ++steps_;
    if (steps_ <= spins) {
      detail::std_atomics::pause();
    } else if (steps_ <= spins + yields) {
      sched_yield();
    } else {
      const std::uint32_t doublings = std::min<std::uint32_t>((steps_ - spins - yields) / 16, 5);
      const timespec nap{0, 31'250L << doublings};
      nanosleep(&nap, nullptr);
    }
  }

  /// Whether a spin was not enough.
  [[nodiscard]] bool is_long() const noexcept { return steps_ > spins; }

  /// Something moved: the next wait starts anew.
  void reset() noexcept { steps_ = 0; }

 private:
  static constexpr std::uint32_t spins = 64;
  static constexpr std::uint32_t yields = 4096;

  std::uint32_t steps_ = 0;
};

}  // namespace weft::base
