// SPDX-License-Identifier: BSD-3-Clause
// Whether the calling thread is inside a callback: a function of the program that the library calls while other threads
// may wait for its return, that is, inside a device's gate, or inside a post.
//
// The rule that this file keeps: inside a callback no fiber is suspended. Other fibers of the worker would run in the
// middle of a call of progress, and to other threads, and to the gates, they would look like the callback itself. So
// - calls that wait for something of the program throw there (`refuse_in_callback`);
// - calls that wait for another thread for a moment let their own thread pause (`current_suspender` is null);
// - signals that a post gives by itself are left to progress once callbacks nest too deep (`is_too_deep`).
//
// Cost of a callback: a count in a line of the thread's own, up and down. It shares its word with what a suspended
// fiber takes along, so that a switch looks at one word for both.
#pragma once

#include "base/of_fiber.hpp"
#include "weft/suspender.hpp"

namespace weft::base {

/// Lies on the stack of each call of a callback: signals of completion objects, hooks, nodes of graphs, allocators, and
/// functions that make match keys. **Threads**: no fiber switch happens during its life.
class callback_scope {
 public:
  callback_scope() noexcept { words_of_fiber.flags += fiber_words::one_callback; }
  ~callback_scope() { words_of_fiber.flags -= fiber_words::one_callback; }
  callback_scope(const callback_scope&) = delete;
  callback_scope& operator=(const callback_scope&) = delete;

  [[nodiscard]] static bool is_inside() noexcept { return detail::is_in_callback(); }
  /// Whether a post must not signal any more: a handler that posts what is complete at once would need stack for each
  /// message.
  [[nodiscard]] static bool is_too_deep() noexcept {
    return words_of_fiber.flags >= depth_max * fiber_words::one_callback;
  }

 private:
  static constexpr std::uint32_t depth_max = 4;
};

/// **Errors**: invalid_state, inside a callback: `call` may wait, and others may wait for the callback's return.
void refuse_in_callback(const char* call);

/// The suspender of the calling thread; null where the thread itself has to wait: it has none, or is in a callback.
[[nodiscard]] suspender* current_suspender() noexcept;

}  // namespace weft::base
