// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait/yield_policy.hpp"

#include <sched.h>

#include <algorithm>
#include <limits>

namespace weft::core {
namespace {

constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();

}  // namespace

std::uint32_t yield_policy::yield_core(std::uint32_t looks, wait_state& mine) noexcept {
  const clock::time_point begin = clock::now();
  if (mine.count == yields_max || keeps_core(begin)) {
    mine.due = never;
    return looks;
  }
  const yield_result yield = yield_once(begin);
  ++mine.count;
  if (yield.is_lone) {
    mine.due = looks + lone_look_count;
    return looks;
  }
  if (yield.time > yield_time_max) {
    note_long_yield(yield.time, yield.end);
    mine.due = never;
    return looks;
  }
  mine.due = next_look_count;
  return 0;
}

yield_policy::yield_result yield_policy::yield_once(clock::time_point begin) noexcept {
  sched_yield();
  const clock::time_point end = clock::now();
  const bool is_lone = end - begin < lone_max;
  if (is_crowded_.load(std::memory_order_relaxed) == is_lone)  // [hint]
    is_crowded_.store(!is_lone, std::memory_order_relaxed);    // [hint]
  return {end - begin, end, is_lone};
}

// Threads that note long yields together may count one of them: the pause is shorter then.
void yield_policy::note_long_yield(clock::duration yield, clock::time_point end) noexcept {
  const clock::rep now = end.time_since_epoch().count();
  const clock::rep kept_until = kept_until_.load(std::memory_order_relaxed);  // [hint]
  const bool is_first = now - kept_until > static_cast<clock::rep>(pauses_max) * yield.count();
  const std::uint32_t pauses = is_first ? 1 : pauses_.load(std::memory_order_relaxed);                  // [hint]
  kept_until_.store(now + static_cast<clock::rep>(pauses) * yield.count(), std::memory_order_relaxed);  // [hint]
  pauses_.store(std::min(2 * pauses, pauses_max), std::memory_order_relaxed);                           // [hint]
}

void yield_policy::rest(rest_state& mine) noexcept {
  ++mine.looks;
  if (is_due(mine.looks, mine.yields))
    mine.looks = yield_core(mine.looks, mine.yields);
  else
    mine.waiting.pause();
}

void yield_policy::rest_between_tests(detail::test_loop& mine) noexcept {
  const bool is_first = mine.is_first();
  wait_state yields = is_first ? begin() : wait_state{.count = mine.yields, .due = mine.due};
  std::uint32_t looks = is_first ? 1 : mine.looks;
  std::uint32_t left = 0;
  if (looks < tests_before_sleep) {
    if (is_due(looks, yields)) looks = yield_core(looks, yields);
    left = (wanted_ ? std::min(yields.due, tests_before_sleep) : tests_before_sleep) - looks;
    looks += left;
  } else if (wanted_) {
    left = yield_once(clock::now()).is_lone ? lone_test_count : next_look_count;
  } else {
    sched_yield();  // lets threads of this process run
    left = lone_test_count;
  }
  mine = {.left = static_cast<std::int32_t>(left) - 1, .looks = looks, .yields = yields.count, .due = yields.due};
}

}  // namespace weft::core
