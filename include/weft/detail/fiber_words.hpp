// SPDX-License-Identifier: BSD-3-Clause
// Words that the library keeps for the fiber that the calling thread runs, or for the thread where it runs none; and
// the question that layers over the public headers have about them.
#pragma once

#include <cstdint>

namespace weft::detail {

/// See src/base/of_fiber.hpp.
struct fiber_words {
  static constexpr std::uint32_t has_succession = 1;
  static constexpr std::uint32_t has_error_text = 2;  // an error was made since the last switch (`last_error.hpp`)
  static constexpr std::uint32_t one_callback = 4;    // added for each callback that runs (`callback_scope.hpp`)

  std::uint32_t flags = 0;
  bool are_foreign = false;    // variable of the thread: its fibers, if it has any, are those of another scheduler
  void* succession = nullptr;  // see `succession_mark`
  // The innermost callback that a device runs (core/operation/running_callback.hpp). Null outside of callbacks, so also
  // at each switch.
  void* running = nullptr;
};

/// A variable of the fiber. Initial-exec for the reason given in weft/detail/thread_slot.hpp.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local fiber_words words_of_fiber;

/// Whether the calling thread is inside a callback (src/base/callback_scope.hpp), where it may wait for nothing.
[[nodiscard]] inline bool is_in_callback() noexcept { return words_of_fiber.flags >= fiber_words::one_callback; }

}  // namespace weft::detail
