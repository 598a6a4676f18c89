// SPDX-License-Identifier: BSD-3-Clause
// subject: src/mpi/check src/mpi/objects src/mpi/api src/mpi/extensions
// WEFT_CHECK=1 finds two threads in one stream at a time. The refused call returns an error and does nothing else.
#include <array>
#include <functional>

#include "mpi/ranks.hpp"
#include "mpix.h"
#include "support/waiting.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;

void run_checked(const std::function<void(numbers_of_rank, MPIX_Stream, MPI_Comm)>& body) {
  test::run_ranks(
      2,
      [&](numbers_of_rank mine) {
        // The communicator has several streams, so that indices count, too.
        std::array<MPIX_Stream, 2> streams{};
        for (MPIX_Stream& each : streams) EXPECT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &each), MPI_SUCCESS);
        MPI_Comm comm = MPI_COMM_NULL;
        EXPECT_EQ(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, 2, streams.data(), &comm), MPI_SUCCESS);
        body(mine, streams[1], comm);
        EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
        EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
        for (MPIX_Stream& each : streams) EXPECT_EQ(MPIX_Stream_free(&each), MPI_SUCCESS);
      },
      {.check = true}, MPI_THREAD_MULTIPLE);
}

TEST(mpi_stream_checks, refuse_a_second_thread_while_another_one_is_in_the_stream) {
  run_checked([](numbers_of_rank mine, MPIX_Stream stream, MPI_Comm comm) {
    int number = 5;
    if (mine.rank == 1) {
      EXPECT_EQ(MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPIX_Stream_send(&number, 1, MPI_INT, 0, 0, comm, 1, 1), MPI_SUCCESS);
      return;
    }
    test::run_threads_of_rank(2, [&](int thread) {
      if (thread == 0) {
        // Of two threads that come at the same time either may be refused.
        int got = -1, error = MPI_ERR_OTHER;
        while (error == MPI_ERR_OTHER) error = MPIX_Stream_recv(&got, 1, MPI_INT, 1, 0, comm, 1, 1, MPI_STATUS_IGNORE);
        EXPECT_EQ(error, MPI_SUCCESS);
        EXPECT_EQ(got, 6);
      } else {
        EXPECT_TRUE(test::eventually([&] { return MPIX_Stream_progress(stream) == MPI_ERR_OTHER; }));
        int value = 6;
        MPI_Request request = MPI_REQUEST_NULL;
        EXPECT_EQ(MPIX_Stream_isend(&value, 1, MPI_INT, 1, 0, comm, 1, 0, &request), MPI_ERR_OTHER);
        EXPECT_EQ(MPIX_Stream_irecv(&value, 1, MPI_INT, 1, 0, comm, 0, 1, &request), MPI_ERR_OTHER);
        EXPECT_EQ(request, MPI_REQUEST_NULL);
        // Another stream of the communicator is free.
        EXPECT_EQ(MPIX_Stream_irecv(&value, 1, MPI_INT, 1, 7, comm, 1, 0, &request), MPI_SUCCESS);
        EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
      }
    });
  });
}

TEST(mpi_stream_checks, refuse_a_wait_for_a_request_of_another_thread_s_stream) {
  run_checked([](numbers_of_rank mine, MPIX_Stream stream, MPI_Comm comm) {
    int number = 5, got = -1;
    if (mine.rank == 1) {
      EXPECT_EQ(MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPIX_Stream_send(&number, 1, MPI_INT, 0, 0, comm, 0, 1), MPI_SUCCESS);
      return;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPIX_Stream_irecv(&got, 1, MPI_INT, 1, 0, comm, 0, 1, &request), MPI_SUCCESS);
    test::run_threads_of_rank(2, [&](int thread) {
      if (thread == 0) {
        int error = MPI_ERR_OTHER;
        while (error == MPI_ERR_OTHER) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(error, MPI_SUCCESS);
        EXPECT_EQ(got, 6);
      } else {
        EXPECT_TRUE(test::eventually([&] { return MPIX_Stream_progress(stream) == MPI_ERR_OTHER; }));
        int value = 6;
        EXPECT_EQ(MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
      }
    });
  });
}

TEST(mpi_stream_checks, refuse_nothing_to_threads_that_follow_each_other) {
  run_checked([](numbers_of_rank mine, MPIX_Stream stream, MPI_Comm comm) {
    for (int round = 0; round < 3; ++round) {
      test::run_threads_of_rank(1, [&](int) {
        for (int each = 0; each < 50; ++each) {
          int got = -1;
          MPI_Request request = MPI_REQUEST_NULL;
          EXPECT_EQ(MPIX_Stream_irecv(&got, 1, MPI_INT, 1 - mine.rank, each, comm, 1, 1, &request), MPI_SUCCESS);
          EXPECT_EQ(MPIX_Stream_send(&each, 1, MPI_INT, 1 - mine.rank, each, comm, 1, 1), MPI_SUCCESS);
          EXPECT_EQ(MPIX_Stream_progress(stream), MPI_SUCCESS);
          EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
          EXPECT_EQ(got, each);
        }
      });
    }
  });
}

}  // namespace
}  // namespace weft
