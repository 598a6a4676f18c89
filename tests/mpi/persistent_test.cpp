// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests (3.9).
#include <array>
#include <vector>

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

TEST(mpi_persistent, sends_of_all_modes_and_receives_are_started_many_times) {
  run_ranks(2, [](numbers_of_rank mine) {
    std::array<int, 4> numbers{};
    std::array<MPI_Request, 4> requests{};
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
      EXPECT_EQ(MPI_Send_init(&numbers[0], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
      EXPECT_EQ(MPI_Ssend_init(&numbers[1], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
      EXPECT_EQ(MPI_Bsend_init(&numbers[2], 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[2]), MPI_SUCCESS);
      EXPECT_EQ(MPI_Rsend_init(&numbers[3], 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[3]), MPI_SUCCESS);
    } else {
      for (int tag = 0; tag < 4; ++tag) {
        EXPECT_EQ(MPI_Recv_init(&numbers[static_cast<std::size_t>(tag)], 1, MPI_INT, 0, tag, MPI_COMM_WORLD,
                                &requests[static_cast<std::size_t>(tag)]),
                  MPI_SUCCESS);
      }
    }
    for (int round = 0; round < 50; ++round) {
      const std::array<int, 4> sent{round, round + 1, round + 2, round + 3};
      numbers = mine.rank == 0 ? sent : std::array<int, 4>{};
      if (mine.rank == 1) {
        EXPECT_EQ(MPI_Startall(4, requests.data()), MPI_SUCCESS);
      }
      EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);  // ready sends need their receives
      if (mine.rank == 0) {
        for (MPI_Request& each : requests) EXPECT_EQ(MPI_Start(&each), MPI_SUCCESS);
      }
      std::array<MPI_Status, 4> statuses{};
      EXPECT_EQ(MPI_Waitall(4, requests.data(), statuses.data()), MPI_SUCCESS);
      for (std::size_t each = 0; each < 4; ++each) EXPECT_NE(requests[each], MPI_REQUEST_NULL);
      EXPECT_EQ(numbers, sent);
      if (mine.rank == 1) {
        EXPECT_EQ(statuses[3].MPI_TAG, 3);
      }
    }
    for (MPI_Request& each : requests) {
      EXPECT_EQ(MPI_Request_free(&each), MPI_SUCCESS);
      EXPECT_EQ(each, MPI_REQUEST_NULL);
    }
  });
}

TEST(mpi_persistent, an_inactive_request_is_complete_with_an_empty_status_and_counts_as_none) {
  // 3.7.3 and 3.7.5: inactive requests are as null ones.
  run_ranks(1, [](numbers_of_rank) {
    int number = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Recv_init(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    MPI_Status status{};
    int flag = 0, index = 0, count = 0;
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
    EXPECT_EQ(MPI_Test(&request, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(MPI_Waitany(1, &request, &index, &status), MPI_SUCCESS);
    EXPECT_EQ(index, MPI_UNDEFINED);
    EXPECT_EQ(MPI_Testany(1, &request, &index, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(index, MPI_UNDEFINED);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(MPI_Waitsome(1, &request, &count, &index, &status), MPI_SUCCESS);
    EXPECT_EQ(count, MPI_UNDEFINED);
    EXPECT_EQ(MPI_Testsome(1, &request, &count, &index, &status), MPI_SUCCESS);
    EXPECT_EQ(count, MPI_UNDEFINED);
    EXPECT_EQ(MPI_Request_get_status(request, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_NE(request, MPI_REQUEST_NULL);
    EXPECT_EQ(MPI_Cancel(&request), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  });
}

TEST(mpi_persistent, a_start_of_an_active_or_of_an_ordinary_request_is_an_error) {
  run_ranks(1, [](numbers_of_rank) {
    int number = 0, sent = 3;
    MPI_Request request = MPI_REQUEST_NULL, ordinary = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Start(&request), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Recv_init(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Start(&request), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &ordinary), MPI_SUCCESS);
    EXPECT_EQ(MPI_Start(&ordinary), MPI_ERR_REQUEST);
    for (const int tag : {0, 1}) EXPECT_EQ(MPI_Send(&sent, 1, MPI_INT, 0, tag, MPI_COMM_SELF), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&ordinary, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  });
}

TEST(mpi_persistent, no_process_and_derived_types_whose_handles_are_freed) {
  // 5.1.9: a type that was freed lives as long as requests use it.
  run_ranks(1, [](numbers_of_rank) {
    std::array<int, 6> sent{1, 2, 3, 4, 5, 6}, received{};
    MPI_Datatype every_second = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_vector(3, 1, 2, MPI_INT, &every_second), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_commit(&every_second), MPI_SUCCESS);
    std::array<MPI_Request, 4> requests{};
    EXPECT_EQ(MPI_Send_init(sent.data(), 1, every_second, 0, 0, MPI_COMM_SELF, &requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Recv_init(received.data(), 1, every_second, 0, 0, MPI_COMM_SELF, &requests[1]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Send_init(sent.data(), 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[2]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Recv_init(received.data(), 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[3]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_free(&every_second), MPI_SUCCESS);
    for (int round = 0; round < 3; ++round) {
      received = {};
      std::array<MPI_Status, 4> statuses{};
      EXPECT_EQ(MPI_Startall(4, requests.data()), MPI_SUCCESS);
      EXPECT_EQ(MPI_Waitall(4, requests.data(), statuses.data()), MPI_SUCCESS);
      EXPECT_EQ(received, (std::array<int, 6>{1, 0, 3, 0, 5, 0}));
      EXPECT_EQ(statuses[1].MPI_SOURCE, 0);
      EXPECT_EQ(statuses[3].MPI_SOURCE, MPI_PROC_NULL);
    }
    for (MPI_Request& each : requests) EXPECT_EQ(MPI_Request_free(&each), MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace weft
