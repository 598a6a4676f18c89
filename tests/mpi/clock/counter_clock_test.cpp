// SPDX-License-Identifier: BSD-3-Clause
// The clock over a counter (src/mpi/clock/counter_clock.hpp), with a counter and a kernel that the test sets.
#include "mpi/clock/counter_clock.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "mpi/clock/counter.hpp"

namespace weft::mpi {
namespace {

// Each access is relaxed [stat] but for what a test says of it.
struct machine {
  std::atomic<std::uint64_t> ticks{5'000'000'000};  // half a nanosecond each
  std::atomic<std::int64_t> offset{70'000'000'000};
  std::atomic<std::uint64_t> counter_reads{0}, early_reads{0}, kernel_reads{0};
  std::atomic<bool> is_trusted{true};
  std::uint64_t ticks_of_read = 20;

  void pass(std::int64_t nanoseconds) {
    ticks.fetch_add(2 * static_cast<std::uint64_t>(nanoseconds), std::memory_order_relaxed);  // [stat]
  }
  [[nodiscard]] std::int64_t time() const {
    // [stat] the test's own thread has set it.
    return offset.load(std::memory_order_relaxed) +
           static_cast<std::int64_t>(ticks.load(std::memory_order_relaxed) / 2);  // [stat]
  }
};

struct source {
  machine* reads = nullptr;

  [[nodiscard]] std::uint64_t ticks() const noexcept {
    reads->early_reads.fetch_add(1, std::memory_order_relaxed);  // [stat]
    return ticks_in_order();
  }
  [[nodiscard]] std::uint64_t ticks_in_order() const noexcept {
    reads->counter_reads.fetch_add(1, std::memory_order_relaxed);  // [stat]
    // [stat] a read-modify-write sees the latest count, as a counter is read.
    return reads->ticks.fetch_add(reads->ticks_of_read, std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t nanoseconds() const noexcept {
    reads->kernel_reads.fetch_add(1, std::memory_order_relaxed);  // [stat]
    return reads->time();
  }
  [[nodiscard]] bool is_trusted() const noexcept {
    return reads->is_trusted.load(std::memory_order_relaxed);
  }  // [stat]
};

using fake_clock = basic_counter_clock<source>;

std::int64_t ns(std::int64_t parts) { return parts / parts_of_ns; }

constexpr std::int64_t millisecond = 1'000'000;

void expect_near_kernel(fake_clock& clock, const machine& of_clock, std::int64_t error = 200) {
  const std::int64_t before = of_clock.time();
  const std::int64_t read = ns(clock.now());
  EXPECT_GE(read, before - error);
  EXPECT_LE(read, of_clock.time() + error);
}

TEST(mpi_counter_clock, a_counter_that_the_kernel_does_not_use_is_never_read) {
  machine here;
  here.is_trusted = false;
  fake_clock clock{source{&here}};
  EXPECT_EQ(clock.rate(), 0u);
  const std::uint64_t reads = here.counter_reads;
  for (int step = 0; step < 100; ++step) {
    EXPECT_EQ(ns(clock.now()), here.time());
    here.pass(millisecond);
  }
  EXPECT_EQ(here.counter_reads, reads);
}

TEST(mpi_counter_clock, the_kernel_is_read_once_in_a_span) {
  machine here;
  fake_clock clock{source{&here}};
  expect_near_kernel(clock, here);
  here.pass(2 * millisecond);
  expect_near_kernel(clock, here);
  EXPECT_NEAR(static_cast<double>(clock.rate()) / 4294967296.0, 8, 0.01);  // sixteenths of a nanosecond
  const std::uint64_t rate = clock.rate();
  std::uint64_t spans = 0;
  for (int step = 0; step < 1000; ++step) {
    here.pass(millisecond);
    const std::uint64_t reads = here.kernel_reads;
    expect_near_kernel(clock, here);
    spans += here.kernel_reads != reads ? 1 : 0;
  }
  EXPECT_GT(spans, 80u);
  EXPECT_LT(spans, 120u);
  EXPECT_EQ(clock.rate(), rate);
  here.pass(3600 * 1000 * millisecond);
  expect_near_kernel(clock, here);
}

TEST(mpi_counter_clock, reads_wait_for_loads_once_a_second_thread_has_asked) {
  machine here;
  fake_clock clock{source{&here}};
  EXPECT_NE(clock.rate(), 0u);
  for (int step = 0; step < 10; ++step) static_cast<void>(clock.now());
  EXPECT_GE(here.early_reads, 10u);
  std::jthread{[&] {
    const std::uint64_t before = here.early_reads;
    for (int step = 0; step < 10; ++step) static_cast<void>(clock.now());
    EXPECT_EQ(here.early_reads, before);
  }}.join();
  const std::uint64_t before = here.early_reads;
  for (int step = 0; step < 10; ++step) static_cast<void>(clock.now());
  EXPECT_EQ(here.early_reads, before);
}

// In a hundred milliseconds, in each of which the kernel's clock loses `lost`, time does not go back, and is the
// kernel's in the end.
void expect_the_kernels_time(machine& here, fake_clock& clock, std::int64_t last, std::int64_t lost) {
  for (int step = 0; step < 100; ++step) {
    here.offset -= lost;
    const std::int64_t now = clock.now();
    EXPECT_GE(now, last);
    last = now;
    here.pass(millisecond);
  }
  EXPECT_EQ(clock.rate(), 0u);
  EXPECT_EQ(ns(clock.now()), here.time());
}

// The times stand still until the kernel's clock has got there.
TEST(mpi_counter_clock, a_counter_that_goes_back_is_left_for_the_kernel_and_time_does_not_go_back) {
  machine here;
  fake_clock clock{source{&here}};
  static_cast<void>(clock.now());
  here.pass(2 * millisecond);
  const std::int64_t last = clock.now();
  EXPECT_NE(clock.rate(), 0u);
  here.ticks -= 4 * millisecond;
  here.offset += 2 * millisecond;
  expect_the_kernels_time(here, clock, last, 0);
}

TEST(mpi_counter_clock, a_kernel_that_counts_by_another_clock_is_followed) {
  machine here;
  fake_clock clock{source{&here}};
  static_cast<void>(clock.now());
  here.pass(2 * millisecond);
  const std::int64_t last = clock.now();
  expect_the_kernels_time(here, clock, last, millisecond / 50);
}

// A thread that is interrupted for long between its reads: the other's reads pass time for it.
TEST(mpi_counter_clock, threads_that_hand_times_on_see_none_go_back) {
  machine here;
  here.ticks_of_read = 300'000;  // a line ends every hundred reads
  fake_clock clock{source{&here}};
  std::atomic<std::int64_t> last{0};
  std::atomic<std::uint64_t> went_back{0};
  std::vector<std::jthread> threads;
  for (int each = 0; each < 4; ++each) {
    threads.emplace_back([&] {
      for (int step = 0; step < 20'000; ++step) {
        // [clock_test.take] acquire <- [clock_test.give]: the other thread's read.
        const std::int64_t before = last.load(std::memory_order_acquire);
        const std::int64_t now = clock.now();
        if (now < before) went_back.fetch_add(1, std::memory_order_relaxed);  // [stat]
        // [clock_test.give] release -> [clock_test.take]: this thread's read.
        last.store(now, std::memory_order_release);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(went_back, 0u);
}

TEST(mpi_counter_clock, the_name_of_the_counter_alone_is_trusted) {
  for (const char* name : {"", "kvm-clock", "hpet", "acpi_pm", "tsc-early", "hyperv_clocksource_tsc_page", "xen"}) {
    EXPECT_FALSE(is_of_processor(name)) << name;
  }
#if defined(__x86_64__)
  EXPECT_TRUE(is_of_processor("tsc"));
#elif defined(__aarch64__)
  EXPECT_TRUE(is_of_processor("arch_sys_counter"));
#endif
}

}  // namespace
}  // namespace weft::mpi
