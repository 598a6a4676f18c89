// SPDX-License-Identifier: BSD-3-Clause
// How to wait for a completion object (`device::wait`), and how long for what fibers wait for.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

namespace weft {

/// How a thread waits.
enum class wait_mode : std::uint8_t {
  spin,   ///< makes progress and polls again: fastest if each thread has a core of its own
  yield,  ///< polls as `spin`, but lets other threads run after `.spins` polls that found nothing
  park,   ///< sleeps after `.spins` polls that found nothing: needs no core then; a wake-up takes some microseconds
};

/// Options of `device::wait`.
struct wait_options {
  /// The longest time to wait.
  std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
  wait_mode mode = wait_mode::park;  ///< how it waits
  /// Polls that found nothing, each a call of `progress()` and some 60 ns, before the thread yields or sleeps.
  std::uint32_t spins = 256;
  /// A request to stop ends the wait, as the timeout does.
  std::stop_token stop = {};
};

/// Limits of a wait of a fiber or thread, as of `fiber_event::wait`. A wait that reaches one of them returns false.
/// Where what it waits for has happened, it may return true although a limit is reached.
///
/// The first wait of a fiber with a time limit starts a thread of the process, which resumes fibers at their time.
struct wait_limits {
  /// The longest time to wait. Zero or less: the call does not wait.
  std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
  /// A request to stop ends the wait.
  std::stop_token stop = {};
};

}  // namespace weft
