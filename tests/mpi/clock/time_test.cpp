// SPDX-License-Identifier: BSD-3-Clause
// MPI_Wtime and MPI_Wtick of this machine, whichever clock they read.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "mpi.h"

namespace weft {
namespace {

double kernel_time() {
  return std::chrono::duration<double>{std::chrono::steady_clock::now().time_since_epoch()}.count();
}

// In its first hundredths of a second the clock may be two microseconds early.
TEST(mpi_time, is_the_kernels_time) {
  EXPECT_GT(MPI_Wtick(), 0);
  EXPECT_LE(MPI_Wtick(), 1e-6);
  EXPECT_EQ(MPI_Wtick(), MPI_Wtick());
  double last = 0;
  const double end = kernel_time() + 0.2;
  std::uint64_t wrong = 0;
  for (double before = kernel_time(); before < end; before = kernel_time()) {
    const double now = MPI_Wtime();
    const double after = kernel_time();
    if (now < before - 5e-6 || now > after + 5e-6) ++wrong;
    EXPECT_GE(now, last);
    last = now;
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(mpi_time, does_not_go_back_where_threads_hand_it_on) {
  std::atomic<double> last{0};
  std::atomic<std::uint64_t> went_back{0};
  std::vector<std::jthread> threads;
  for (int each = 0; each < 4; ++each) {
    threads.emplace_back([&] {
      for (int step = 0; step < 200'000; ++step) {
        // [time_test.take] acquire <- [time_test.give]: the other thread's read.
        const double before = last.load(std::memory_order_acquire);
        const double now = MPI_Wtime();
        if (now < before) went_back.fetch_add(1, std::memory_order_relaxed);  // [stat]
        // [time_test.give] release -> [time_test.take]: this thread's read.
        last.store(now, std::memory_order_release);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(went_back, 0u);
}

}  // namespace
}  // namespace weft
