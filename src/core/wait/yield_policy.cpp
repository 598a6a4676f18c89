#include "core/wait/yield_policy.hpp"

#include <sched.h>

#include <limits>

namespace weft::core {

std::uint32_t yield_policy::yield_core(std::uint32_t looks, wait_state& mine) noexcept {
  constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
  const clock::time_point begin = clock::now();
  if (mine.count == yields_max ||
      begin.time_since_epoch().count() < kept_until_.load(std::memory_order_relaxed)) {  // [hint]
    mine.due = never;
    return looks;
  }
  sched_yield();
  ++mine.count;
  const clock::time_point end = clock::now();
  if (end - begin < lone_max) {
    mine.due = looks + lone_look_count;
    return looks;
  }
  if (end - begin > yield_time_max) {
    kept_until_.store((end + pauses_per_yield * (end - begin)).time_since_epoch().count(),
                      std::memory_order_relaxed);  // [hint]
    mine.due = never;
    return looks;
  }
  mine.due = next_look_count;
  return 0;
}

}  // namespace weft::core
