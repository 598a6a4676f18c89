// SPDX-License-Identifier: BSD-3-Clause
// What it takes to sleep and be woken, and to give way.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <thread>

#include "weft-perf/limits/bursts.hpp"
#include "weft-perf/limits/limits.hpp"
#include "weft-perf/report/machine.hpp"

namespace weft::perf::limits {
namespace {

class sleeper {
 public:
  void wait_until(std::uint32_t wanted) noexcept {
    // [sleeper.wait] acquire <- [sleeper.wake]: all that the other side did before.
    for (std::uint32_t seen; (seen = word_.load(std::memory_order_acquire)) != wanted && seen != over;) {
      syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    }
  }
  void wake(std::uint32_t value) noexcept {
    // [sleeper.wake] release -> [sleeper.wait], [sleeper.is_over]: all that this side did before.
    word_.store(value, std::memory_order_release);
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }
  [[nodiscard]] bool is_over() const noexcept {
    // [sleeper.is_over] acquire <- [sleeper.wake]: all that the other side did before its last step.
    return word_.load(std::memory_order_acquire) == over;
  }

  static constexpr std::uint32_t over = ~std::uint32_t{0};

 private:
  std::atomic<std::uint32_t> word_{0};
};

// Two sides take a step each, one after the other, by `wait` and `pass`; ns a step.
template <class Wait, class Pass, class End>
double alternate(std::uint32_t other_core, double seconds, Wait wait, Pass pass, End end) {
  const std::jthread other{[&, other_core] {
    const pinned_here second{other_core};
    for (std::uint32_t step = 1; wait(step); step += 2) pass(step + 1);
  }};
  const pinned_here first{0};
  std::uint32_t step = 0;
  const best_burst best = bursts_of(seconds, [&] {
    pass(step + 1);
    (void)wait(step + 2);
    step += 2;
    return 2.0;
  });
  end();
  return best.nanoseconds();
}

}  // namespace

double futex(double seconds) {
  sleeper line;
  return alternate(
      1, seconds,
      [&](std::uint32_t step) {
        line.wait_until(step);
        return !line.is_over();
      },
      [&](std::uint32_t step) { line.wake(step); }, [&] { line.wake(sleeper::over); });
}

double yield(double seconds) {
  std::atomic<std::uint32_t> now{0};
  return alternate(
      0, seconds,
      [&](std::uint32_t step) {
        // [yield_limit.wait] acquire <- [yield_limit.pass], [yield_limit.end]: all that the other side did before.
        for (std::uint32_t seen; (seen = now.load(std::memory_order_acquire)) != step;) {
          if (seen == sleeper::over) return false;
          sched_yield();
        }
        return true;
      },
      [&](std::uint32_t step) {
        // [yield_limit.pass] release -> [yield_limit.wait]: all that this side did before.
        now.store(step, std::memory_order_release);
      },
      [&] {
        // [yield_limit.end] release -> [yield_limit.wait]: all that the first side did.
        now.store(sleeper::over, std::memory_order_release);
      });
}

}  // namespace weft::perf::limits
