// SPDX-License-Identifier: BSD-3-Clause
// Probes, matched probes and their receives (3.8.1 to 3.8.3), and MPI_Cancel (3.8.4).
#include <array>
#include <numeric>
#include <vector>

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

TEST(mpi_probes, a_probe_gives_source_tag_and_count_and_leaves_the_message) {
  run_ranks(2, [](numbers_of_rank mine) {
    for (const int count : {0, 3, 200'000}) {
      std::vector<int> numbers(static_cast<std::size_t>(count), count);
      if (mine.rank == 0) {
        EXPECT_EQ(MPI_Send(numbers.data(), count, MPI_INT, 1, 6, MPI_COMM_WORLD), MPI_SUCCESS);
        continue;
      }
      MPI_Status status{};
      int flag = 0, found = 0;
      EXPECT_EQ(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status), MPI_SUCCESS);
      EXPECT_EQ(status.MPI_SOURCE, 0);
      EXPECT_EQ(status.MPI_TAG, 6);
      EXPECT_EQ(MPI_Get_count(&status, MPI_INT, &found), MPI_SUCCESS);
      EXPECT_EQ(found, count);
      status = {};
      EXPECT_EQ(MPI_Iprobe(0, 6, MPI_COMM_WORLD, &flag, &status), MPI_SUCCESS);
      EXPECT_EQ(flag, 1);
      EXPECT_EQ(MPI_Iprobe(0, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(flag, 0);
      std::vector<int> received(numbers.size());
      EXPECT_EQ(MPI_Recv(received.data(), count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status),
                MPI_SUCCESS);
      EXPECT_EQ(received, numbers);
    }
  });
}

TEST(mpi_probes, a_matched_message_is_received_by_its_handle_alone) {
  // 3.8.2: a matched message can be received only with its handle.
  run_ranks(2, [](numbers_of_rank mine) {
    if (mine.rank == 0) {
      for (const int number : {1, 2, 3, 4}) {
        EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
      }
      return;
    }
    MPI_Message first = MPI_MESSAGE_NULL, third = MPI_MESSAGE_NULL;
    MPI_Status status{};
    int number = 0, flag = 0;
    EXPECT_EQ(MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &first, &status), MPI_SUCCESS);
    EXPECT_NE(first, MPI_MESSAGE_NULL);
    EXPECT_EQ(status.MPI_SOURCE, 0);
    EXPECT_EQ(MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(number, 2);
    while (flag == 0) {
      EXPECT_EQ(MPI_Improbe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, &third, &status), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Mrecv(&number, 1, MPI_INT, &first, &status), MPI_SUCCESS);
    EXPECT_EQ(number, 1);
    EXPECT_EQ(status.MPI_TAG, 0);
    EXPECT_EQ(first, MPI_MESSAGE_NULL);
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Imrecv(&number, 1, MPI_INT, &third, &request), MPI_SUCCESS);
    EXPECT_EQ(third, MPI_MESSAGE_NULL);
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(number, 3);
    EXPECT_EQ(MPI_Mrecv(&number, 1, MPI_INT, &third, &status), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(number, 4);
  });
}

TEST(mpi_probes, a_matched_message_that_is_too_long_is_an_error_and_writes_nothing) {
  run_ranks(2, [](numbers_of_rank mine) {
    std::vector<int> numbers(60'000, mine.rank);
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Send(numbers.data(), 60'000, MPI_INT, 1, 9, MPI_COMM_WORLD), MPI_SUCCESS);
      return;
    }
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status{};
    EXPECT_EQ(MPI_Mprobe(0, 9, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Mrecv(numbers.data(), 59'999, MPI_INT, &message, &status), MPI_ERR_TRUNCATE);
    EXPECT_EQ(status.MPI_SOURCE, 0);
    EXPECT_EQ(status.MPI_TAG, 9);
    EXPECT_EQ(numbers, std::vector<int>(60'000, 1));
  });
}

TEST(mpi_probes, a_probe_of_no_process_finds_an_empty_message) {
  // 3.8.2: source MPI_PROC_NULL gives MPI_MESSAGE_NO_PROC.
  run_ranks(1, [](numbers_of_rank) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    int flag = 0, number = 8;
    EXPECT_EQ(MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    EXPECT_EQ(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status), MPI_SUCCESS);
    EXPECT_EQ(message, MPI_MESSAGE_NO_PROC);
    status = {};
    EXPECT_EQ(MPI_Mrecv(&number, 1, MPI_INT, &message, &status), MPI_SUCCESS);
    EXPECT_EQ(message, MPI_MESSAGE_NULL);
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    EXPECT_EQ(MPI_Improbe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &message, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(MPI_Imrecv(&number, 1, MPI_INT, &message, &request), MPI_SUCCESS);
    EXPECT_EQ(message, MPI_MESSAGE_NULL);
    status = {};
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    EXPECT_EQ(number, 8);
  });
}

TEST(mpi_cancel, a_cancelled_receive_completes_with_a_status_that_says_so_and_matches_nothing) {
  run_ranks(1, [](numbers_of_rank) {
    int number = 0, sent = 5, flag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    for (const int source : {0, MPI_ANY_SOURCE}) {
      EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, source, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
      EXPECT_NE(request, MPI_REQUEST_NULL);
      EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
      EXPECT_EQ(MPI_Test_cancelled(&status, &flag), MPI_SUCCESS);
      EXPECT_EQ(flag, 1);
    }
    EXPECT_EQ(MPI_Send(&sent, 1, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_SUCCESS);
    EXPECT_EQ(MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &status), MPI_SUCCESS);
    EXPECT_EQ(number, 5);
    EXPECT_EQ(MPI_Test_cancelled(&status, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
  });
}

TEST(mpi_cancel, it_is_too_late_for_a_receive_that_is_matched_and_for_sends) {
  // 3.8.4: either the cancellation succeeds or the communication does, not both.
  run_ranks(2, [](numbers_of_rank mine) {
    std::vector<int> numbers(100'000, mine.rank);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    int flag = 1;
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Isend(numbers.data(), 100'000, MPI_INT, 1, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
    } else {
      MPI_Message message = MPI_MESSAGE_NULL;
      EXPECT_EQ(MPI_Mprobe(0, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_Imrecv(numbers.data(), 100'000, MPI_INT, &message, &request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(MPI_Test_cancelled(&status, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(numbers, std::vector<int>(100'000, 0));
  });
}

TEST(mpi_cancel, a_persistent_receive_is_cancelled_and_started_again) {
  run_ranks(1, [](numbers_of_rank) {
    int number = 0, sent = 5, flag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    EXPECT_EQ(MPI_Recv_init(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(MPI_Test_cancelled(&status, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Send(&sent, 1, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(MPI_Test_cancelled(&status, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(number, 5);
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  });
}

TEST(mpi_cancel, a_receive_whose_request_is_freed_does_not_hold_up_the_end) {
  run_ranks(2, [](numbers_of_rank) {
    static int number = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace weft
