// SPDX-License-Identifier: BSD-3-Clause
// Sleeping until another thread, of any process, changes a word; and waking the threads that sleep.
//
// Cost: a system call each. A message for which no thread sleeps takes none.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace weft::base {

/// A word, and its value while there is a reason to sleep.
struct awaited_word {
  const std::atomic<std::uint32_t>* word = nullptr;
  std::uint32_t expected = 0;
};

/// Sleeps while the words (the first one alone, where `second` has none) hold their expected values, until it is
/// woken, or `until`. May return early for no reason. Where the kernel can't wait for two words, it sleeps for a
/// millisecond at most. **Returns** whether it has slept until `until`.
bool sleep_while(const awaited_word& first, const awaited_word& second, clock::time_point until) noexcept;

/// Wakes all that sleep on `word`. **Returns** how many.
unsigned wake_all(const std::atomic<std::uint32_t>& word) noexcept;

}  // namespace weft::base
