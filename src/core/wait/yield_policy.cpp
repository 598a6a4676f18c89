#include "core/wait/yield_policy.hpp"

#include <sched.h>

#include <algorithm>
#include <limits>

namespace weft::core {

std::uint32_t yield_policy::yield_core(std::uint32_t looks, wait_state& mine) noexcept {
  constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
  const clock::time_point begin = clock::now();
  if (mine.count == yields_max || keeps_core(begin)) {
    mine.due = never;
    return looks;
  }
  sched_yield();
  ++mine.count;
  const clock::time_point end = clock::now();
  const bool is_lone = end - begin < lone_max;
  if (is_crowded_.load(std::memory_order_relaxed) == is_lone)  // [hint]
    is_crowded_.store(!is_lone, std::memory_order_relaxed);    // [hint]
  if (is_lone) {
    mine.due = looks + lone_look_count;
    return looks;
  }
  if (end - begin > yield_time_max) {
    note_long_yield(end - begin, end);
    mine.due = never;
    return looks;
  }
  mine.due = next_look_count;
  return 0;
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

}  // namespace weft::core
