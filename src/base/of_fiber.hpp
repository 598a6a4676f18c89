// SPDX-License-Identifier: BSD-3-Clause
// What Weft keeps for the fiber that the calling thread runs, or for the thread itself where it runs none.
//
// A thread has one set of these words. They are empty at each switch of Weft's own fibers: a fiber that is suspended
// takes them along, and gives them to the thread in which it continues (`taken_along`). So each switch costs a look at
// one word. The scheduler of another library may switch fibers where Weft does not see it: for its fibers a table has
// what must not be mixed up, by their names (`weft::suspender::current`).
//
// All other thread-locals of the library belong to the thread: each says so where it is declared.
#pragma once

#include "base/last_error.hpp"
#include "weft/detail/fiber_words.hpp"
#include "weft/suspender.hpp"

namespace weft::base {

using detail::fiber_words;
using detail::words_of_fiber;

/// Whether a fiber that is to be suspended has to take something along.
[[nodiscard]] inline bool has_fiber_words() noexcept { return words_of_fiber.flags != 0; }

// Nothing of the following is inlined: a fiber that calls two of them may be in another thread the second time.

/// The succession of coroutines that runs on the calling fiber, or thread; null: none. The innermost one, if it is on
/// the fiber's stack several times.
[[nodiscard]] void* this_succession() noexcept;

/// Makes `mine`, for its life, the succession of the calling fiber, on whose stack it lies.
class succession_mark {
 public:
  explicit succession_mark(void* mine) noexcept;
  ~succession_mark();
  succession_mark(const succession_mark&) = delete;
  succession_mark& operator=(const succession_mark&) = delete;

 private:
  void* outer_ = nullptr;
  suspender* suspender_ = nullptr;  // suspender of the fiber of another scheduler; null: the words have it
  void* fiber_ = nullptr;
};

/// Lies on the stack of a fiber while it is suspended.
class taken_along {
 public:
  taken_along() noexcept;
  ~taken_along();
  taken_along(const taken_along&) = delete;
  taken_along& operator=(const taken_along&) = delete;

 private:
  void* succession_ = nullptr;
  bool has_text_ = false;
  error_text text_;  // if `has_text_`
};

/// Suspends the calling fiber. All suspensions by a suspender come by here.
void suspend_by(suspender& suspender) noexcept;

}  // namespace weft::base
