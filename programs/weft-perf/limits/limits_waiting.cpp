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
    for (std::uint32_t seen; (seen = word_.load(std::memory_order_acquire)) != wanted && seen != over;) {
      syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    }
  }
  void wake(std::uint32_t value) noexcept {
    word_.store(value, std::memory_order_release);
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }
  [[nodiscard]] bool is_over() const noexcept { return word_.load(std::memory_order_acquire) == over; }

  static constexpr std::uint32_t over = ~std::uint32_t{0};

 private:
  std::atomic<std::uint32_t> word_{0};
};

// Two sides take turns by what `wait` and `pass` are; ns a turn.
template <class Wait, class Pass, class End>
double take_turns(std::uint32_t other_core, double seconds, Wait wait, Pass pass, End end) {
  const std::jthread other{[&, other_core] {
    const pinned_here second{other_core};
    for (std::uint32_t turn = 1; wait(turn); turn += 2) pass(turn + 1);
  }};
  const pinned_here first{0};
  std::uint32_t turn = 0;
  const best_burst best = bursts_of(seconds, [&] {
    pass(turn + 1);
    (void)wait(turn + 2);
    turn += 2;
    return 2.0;
  });
  end();
  return best.nanoseconds();
}

}  // namespace

double futex(double seconds) {
  sleeper line;
  return take_turns(
      1, seconds,
      [&](std::uint32_t turn) {
        line.wait_until(turn);
        return !line.is_over();
      },
      [&](std::uint32_t turn) { line.wake(turn); }, [&] { line.wake(sleeper::over); });
}

double yield(double seconds) {
  std::atomic<std::uint32_t> now{0};
  return take_turns(
      0, seconds,
      [&](std::uint32_t turn) {
        for (std::uint32_t seen; (seen = now.load(std::memory_order_acquire)) != turn;) {
          if (seen == sleeper::over) return false;
          sched_yield();
        }
        return true;
      },
      [&](std::uint32_t turn) { now.store(turn, std::memory_order_release); },
      [&] { now.store(sleeper::over, std::memory_order_release); });
}

}  // namespace weft::perf::limits
