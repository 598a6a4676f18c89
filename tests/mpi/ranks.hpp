// SPDX-License-Identifier: BSD-3-Clause
// Ranks of MPI as threads of one process.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "mpi.h"
#include "mpi/rank/rank_state.hpp"
#include "weft/test/local_job.hpp"

namespace weft::test {

/// This rank in MPI_COMM_WORLD, and the number of ranks.
struct numbers_of_rank {
  int rank;
  int size;
};

/// Runs `body` between MPI_Init and MPI_Finalize at each rank; errors are returned.
inline void run_ranks(std::uint32_t ranks, const std::function<void(numbers_of_rank)>& body,
                      const runtime_options& options = {}, int level = MPI_THREAD_SINGLE) {
  local_job{ranks, options}.run([&](runtime& rt) {
    mpi::rank_slot slot{.given = &rt};
    mpi::be_thread_of(&slot);
    int provided = -1;
    EXPECT_EQ(MPI_Init_thread(nullptr, nullptr, level, &provided), MPI_SUCCESS);
    EXPECT_EQ(provided, level);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
    numbers_of_rank mine{};
    EXPECT_EQ(MPI_Comm_rank(MPI_COMM_WORLD, &mine.rank), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_size(MPI_COMM_WORLD, &mine.size), MPI_SUCCESS);
    body(mine);
    EXPECT_EQ(MPI_Finalize(), MPI_SUCCESS);
    mpi::be_thread_of(nullptr);
  });
}

/// Runs `body` in so many threads of the calling thread's rank, each with its number.
inline void run_threads_of_rank(int threads, const std::function<void(int)>& body) {
  mpi::rank_slot& mine = mpi::current_slot();
  std::vector<std::jthread> running;
  for (int number = 0; number < threads; ++number) {
    running.emplace_back([&, number] {
      mpi::be_thread_of(&mine);
      body(number);
      mpi::be_thread_of(nullptr);
    });
  }
}

}  // namespace weft::test
