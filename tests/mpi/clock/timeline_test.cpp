// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of the clock over a counter (src/mpi/clock/timeline.hpp): simulated counters, and kernels that adjust
// their clock.
#include "mpi/clock/timeline.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <random>

#include "support/random_seed.hpp"

namespace weft::mpi {
namespace {

constexpr std::int64_t us = 1000 * parts_of_ns;
constexpr std::int64_t ms = 1000 * us;

// A kernel's clock that runs at a rate of its own, which may change.
struct kernel {
  double hertz;  // of the counter
  double ppm = 0;
  std::uint64_t ticks = 1'000'000'000'000;  // the counter
  double time = 4e15;                       // in nanoseconds
  std::mt19937_64 random{test::random_seed()};

  void pass(double nanoseconds) {
    const auto passed = static_cast<std::uint64_t>(nanoseconds * hertz / 1e9);
    ticks += passed;
    time += static_cast<double>(passed) / hertz * 1e9 * (1 + ppm / 1e6);
  }
  [[nodiscard]] std::int64_t parts() const { return static_cast<std::int64_t>(time * parts_of_ns); }

  // The kernel's clock was read somewhere within `width` nanoseconds.
  clock_reading read(double width = 30) {
    const double before = std::uniform_real_distribution<double>{0, width}(random);
    const std::uint64_t begin = ticks;
    pass(before);
    const auto read = static_cast<std::int64_t>(time) * parts_of_ns;
    pass(width - before);
    const std::uint64_t spread = (ticks - begin + 1) / 2;
    return {.ticks = begin + spread, .spread = spread, .time = read};
  }

  clock_state start() {
    const clock_reading first = read();
    pass(2e6);
    return timeline::first_state(first, read()).value();
  }
};

// How far the line is from the kernel's clock, now.
std::int64_t error_of(const clock_state& state, const kernel& of_machine) {
  return state.line.time_after(of_machine.ticks - state.line.begin) - of_machine.parts();
}

// In nanoseconds of the counter: the kernel's may differ.
constexpr double until_next_line = 1.002 * timeline::span / parts_of_ns;
constexpr double counters[] = {1e6, 24e6, 54e6, 1e9, 2.6e9, 5e9};

TEST(mpi_timeline, the_first_line_is_never_behind_the_kernel) {
  for (const double hertz : counters) {
    kernel machine{.hertz = hertz};
    for (int round = 0; round < 100; ++round) {
      const clock_state state = machine.start();
      for (int step = 0; step < 9; ++step) {
        EXPECT_GE(error_of(state, machine), -parts_of_ns) << hertz;
        machine.pass(1e6);
      }
      EXPECT_LT(error_of(state, machine), 20 * us) << hertz;
    }
  }
}

TEST(mpi_timeline, a_first_line_needs_time_and_narrow_readings) {
  kernel machine{.hertz = 2.6e9};
  const clock_reading first = machine.read();
  machine.pass(5e5);
  EXPECT_FALSE(timeline::first_state(first, machine.read()));
  machine.pass(1e6);
  EXPECT_FALSE(timeline::first_state(first, machine.read(1e5)));
  EXPECT_TRUE(timeline::first_state(first, machine.read()));
  EXPECT_FALSE(timeline::first_state(first, first));
}

TEST(mpi_timeline, lines_follow_each_other_without_a_step_and_stay_near_the_kernel) {
  for (const double hertz : counters) {
    kernel machine{.hertz = hertz};
    clock_state state = machine.start();
    for (int step = 0; step < 7000; ++step) {  // some 70 seconds
      if (step % 1000 == 999) machine.ppm += step % 2000 == 999 ? 3 : -5;
      machine.pass(until_next_line);
      const std::optional<clock_state> next = timeline::next_state(state, machine.read());
      ASSERT_TRUE(next);
      EXPECT_EQ(next->line.begin, state.line.end());
      EXPECT_EQ(next->line.time, state.line.end_time());
      EXPECT_GE(next->line.end(), machine.ticks);
      state = *next;
      const std::int64_t tick = static_cast<std::int64_t>(1e9 / hertz) * parts_of_ns;
      if (step > 10) {
        EXPECT_LT(std::abs(error_of(state, machine)), us / 2 + 2 * tick) << hertz << ", step " << step;
      }
    }
  }
}

TEST(mpi_timeline, a_reading_that_was_interrupted_changes_nothing) {
  kernel machine{.hertz = 2.6e9};
  clock_state state = machine.start();
  for (int step = 0; step < 500; ++step) {
    machine.pass(until_next_line);
    state = timeline::next_state(state, machine.read(step % 3 == 1 ? 5e6 : 30)).value();
    if (step > 10) {
      EXPECT_LT(std::abs(error_of(state, machine)), us) << "step " << step;
    }
  }
}

TEST(mpi_timeline, after_a_long_pause_the_clock_is_the_kernels) {
  for (const double seconds : {0.1, 1.0, 60.0, 86400.0, 1e7}) {
    kernel machine{.hertz = 2.6e9, .ppm = 40};
    clock_state state = machine.start();
    machine.ppm = -40;
    machine.pass(seconds * 1e9);
    const clock_state next = timeline::next_state(state, machine.read()).value();
    EXPECT_GE(next.line.time, state.line.end_time());
    EXPECT_LT(std::abs(error_of(next, machine)), us) << seconds;
  }
}

TEST(mpi_timeline, a_kernel_that_slews_its_clock_is_followed_at_a_bounded_rate) {
  kernel machine{.hertz = 2.6e9};
  clock_state state = machine.start();
  for (int step = 0; step < 300; ++step) {
    if (step % 50 == 49) machine.ppm = step % 100 == 49 ? 500 : -500;
    machine.pass(until_next_line);
    const clock_state next = timeline::next_state(state, machine.read()).value();
    const double change = static_cast<double>(next.line.rate) / static_cast<double>(next.kernel_rate) - 1;
    EXPECT_LE(std::abs(change), 1.01 / timeline::slew_divisor);
    state = next;
    EXPECT_LT(std::abs(error_of(state, machine)), 30 * us) << "step " << step;
  }
}

TEST(mpi_timeline, a_kernel_that_counts_by_another_clock_has_no_next_line) {
  for (const double ppm : {20'000.0, -20'000.0}) {
    kernel machine{.hertz = 2.6e9};
    const clock_state state = machine.start();
    machine.ppm = ppm;
    machine.pass(2e7);
    EXPECT_FALSE(timeline::next_state(state, machine.read()));
  }
  kernel machine{.hertz = 2.6e9};
  const clock_state state = machine.start();
  machine.pass(2e7);
  clock_reading now = machine.read();
  now.time -= 15 * ms;  // as after a pause of the machine in which the counter went on
  EXPECT_FALSE(timeline::next_state(state, now));
  now.time += 15 * ms;
  EXPECT_TRUE(timeline::next_state(state, now));
  now.ticks = state.line.begin - 1;  // as where the counter began again
  EXPECT_FALSE(timeline::next_state(state, now));
}

}  // namespace
}  // namespace weft::mpi
