// SPDX-License-Identifier: BSD-3-Clause
// Functions that complete, test and free requests (3.7), and their statuses (3.2.5).
#include <array>
#include <numeric>
#include <vector>

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

// Receives of one rank from itself, which are not complete.
struct open_receives {
  std::array<int, 4> numbers{};
  std::array<MPI_Request, 4> requests{};
  open_receives() {
    for (std::size_t each = 0; each < 4; ++each) {
      EXPECT_EQ(MPI_Irecv(&numbers[each], 1, MPI_INT, 0, static_cast<int>(each), MPI_COMM_SELF, &requests[each]),
                MPI_SUCCESS);
    }
  }
  void send(int tag, int count = 1) const {
    const std::array<int, 2> sent{10 + tag, 0};
    EXPECT_EQ(MPI_Send(sent.data(), count, MPI_INT, 0, tag, MPI_COMM_SELF), MPI_SUCCESS);
  }
};

TEST(mpi_requests, any_gives_the_index_of_one_that_is_complete) {
  run_ranks(1, [](numbers_of_rank) {
    open_receives open;
    int index = 0, flag = 1;
    MPI_Status status{};
    EXPECT_EQ(MPI_Testany(4, open.requests.data(), &index, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(index, MPI_UNDEFINED);
    open.send(2);
    EXPECT_EQ(MPI_Waitany(4, open.requests.data(), &index, &status), MPI_SUCCESS);
    EXPECT_EQ(index, 2);
    EXPECT_EQ(open.numbers[2], 12);
    EXPECT_EQ(status.MPI_TAG, 2);
    EXPECT_EQ(open.requests[2], MPI_REQUEST_NULL);
    open.send(1);
    EXPECT_EQ(MPI_Testany(4, open.requests.data(), &index, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(index, 1);
    open.send(0);
    open.send(3);
    EXPECT_EQ(MPI_Waitall(4, open.requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitany(4, open.requests.data(), &index, &status), MPI_SUCCESS);
    EXPECT_EQ(index, MPI_UNDEFINED);
    EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  });
}

TEST(mpi_requests, some_gives_all_that_are_complete_with_their_statuses) {
  run_ranks(1, [](numbers_of_rank) {
    open_receives open;
    int count = 7;
    std::array<int, 4> indices{};
    std::array<MPI_Status, 4> statuses{};
    EXPECT_EQ(MPI_Testsome(4, open.requests.data(), &count, indices.data(), statuses.data()), MPI_SUCCESS);
    EXPECT_EQ(count, 0);
    open.send(1);
    open.send(3);
    EXPECT_EQ(MPI_Waitsome(4, open.requests.data(), &count, indices.data(), statuses.data()), MPI_SUCCESS);
    ASSERT_EQ(count, 2);
    EXPECT_EQ(indices[0], 1);
    EXPECT_EQ(indices[1], 3);
    EXPECT_EQ(statuses[1].MPI_TAG, 3);
    open.send(0);
    open.send(2);
    EXPECT_EQ(MPI_Testsome(4, open.requests.data(), &count, indices.data(), statuses.data()), MPI_SUCCESS);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(MPI_Testsome(4, open.requests.data(), &count, indices.data(), statuses.data()), MPI_SUCCESS);
    EXPECT_EQ(count, MPI_UNDEFINED);
  });
}

TEST(mpi_requests, a_test_of_all_completes_none_before_all_are_complete) {
  // 3.7.5: neither requests nor statuses are touched where the flag is false.
  run_ranks(1, [](numbers_of_rank) {
    open_receives open;
    int flag = 1;
    std::array<MPI_Status, 4> statuses{};
    for (const int tag : {0, 1, 2}) open.send(tag);
    EXPECT_EQ(MPI_Testall(4, open.requests.data(), &flag, statuses.data()), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    for (const MPI_Request each : open.requests) EXPECT_NE(each, MPI_REQUEST_NULL);
    open.send(3);
    EXPECT_EQ(MPI_Testall(4, open.requests.data(), &flag, statuses.data()), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(statuses[3].MPI_TAG, 3);
    EXPECT_EQ(open.numbers, (std::array<int, 4>{10, 11, 12, 13}));
  });
}

TEST(mpi_requests, a_status_can_be_seen_without_completing_the_request) {
  // 3.7.6: MPI_Request_get_status and its forms for several leave requests as they are.
  run_ranks(1, [](numbers_of_rank) {
    open_receives open;
    int flag = 1, index = 0, count = 0;
    MPI_Status status{};
    std::array<int, 4> indices{};
    std::array<MPI_Status, 4> statuses{};
    EXPECT_EQ(MPI_Request_get_status(open.requests[1], &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    open.send(1);
    for (int each = 0; each < 2; ++each) {
      EXPECT_EQ(MPI_Request_get_status(open.requests[1], &flag, &status), MPI_SUCCESS);
      EXPECT_EQ(flag, 1);
      EXPECT_EQ(status.MPI_TAG, 1);
      EXPECT_EQ(MPI_Request_get_status_any(4, open.requests.data(), &index, &flag, &status), MPI_SUCCESS);
      EXPECT_EQ(flag, 1);
      EXPECT_EQ(index, 1);
      EXPECT_EQ(MPI_Request_get_status_some(4, open.requests.data(), &count, indices.data(), statuses.data()),
                MPI_SUCCESS);
      EXPECT_EQ(count, 1);
      EXPECT_EQ(indices[0], 1);
      EXPECT_EQ(MPI_Request_get_status_all(4, open.requests.data(), &flag, statuses.data()), MPI_SUCCESS);
      EXPECT_EQ(flag, 0);
    }
    for (const int tag : {0, 2, 3}) open.send(tag);
    EXPECT_EQ(MPI_Request_get_status_all(4, open.requests.data(), &flag, statuses.data()), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(statuses[2].MPI_TAG, 2);
    EXPECT_EQ(MPI_Waitall(4, open.requests.data(), statuses.data()), MPI_SUCCESS);
    EXPECT_EQ(MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
  });
}

TEST(mpi_requests, errors_of_several_are_in_their_statuses_and_nothing_else_writes_them) {
  // 3.2.5 and 3.7.5: MPI_ERROR is written exactly where MPI_ERR_IN_STATUS is returned.
  run_ranks(1, [](numbers_of_rank) {
    open_receives open;
    std::array<MPI_Status, 4> statuses{};
    for (MPI_Status& each : statuses) each.MPI_ERROR = 77;
    open.send(0);
    open.send(1, 2);  // is longer than its buffer
    open.send(3);
    EXPECT_EQ(MPI_Waitall(4, open.requests.data(), statuses.data()), MPI_ERR_IN_STATUS);
    EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_EQ(statuses[1].MPI_SOURCE, 0);
    EXPECT_EQ(statuses[1].MPI_TAG, 1);
    EXPECT_EQ(statuses[2].MPI_ERROR, MPI_ERR_PENDING);
    EXPECT_EQ(statuses[3].MPI_ERROR, MPI_SUCCESS);
    EXPECT_NE(open.requests[2], MPI_REQUEST_NULL);
    open.send(2);
    statuses[2].MPI_ERROR = 78;
    EXPECT_EQ(MPI_Wait(&open.requests[2], &statuses[2]), MPI_SUCCESS);
    EXPECT_EQ(statuses[2].MPI_ERROR, 78);
  });
}

TEST(mpi_requests, a_failure_ends_a_wait_for_all_also_if_an_earlier_request_is_open) {
  run_ranks(1, [](numbers_of_rank) {
    open_receives open;
    std::array<MPI_Status, 4> statuses{};
    open.send(3, 2);
    EXPECT_EQ(MPI_Waitall(4, open.requests.data(), statuses.data()), MPI_ERR_IN_STATUS);
    EXPECT_EQ(statuses[0].MPI_ERROR, MPI_ERR_PENDING);
    EXPECT_EQ(statuses[3].MPI_ERROR, MPI_ERR_TRUNCATE);
    for (const int tag : {0, 1, 2}) open.send(tag);
    EXPECT_EQ(MPI_Waitall(4, open.requests.data(), statuses.data()), MPI_SUCCESS);
  });
}

TEST(mpi_requests, no_requests_at_all_are_complete_also_without_arrays) {
  run_ranks(1, [](numbers_of_rank) {
    int index = 0, count = 0, flag = 0;
    MPI_Status status{};
    EXPECT_EQ(MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Testall(0, nullptr, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(MPI_Waitany(0, nullptr, &index, &status), MPI_SUCCESS);
    EXPECT_EQ(index, MPI_UNDEFINED);
    EXPECT_EQ(MPI_Waitsome(0, nullptr, &count, nullptr, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(count, MPI_UNDEFINED);
    EXPECT_EQ(MPI_Startall(0, nullptr), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitall(1, nullptr, MPI_STATUSES_IGNORE), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Waitall(-1, nullptr, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
  });
}

TEST(mpi_requests, a_handle_of_another_kind_or_of_a_freed_request_is_an_error) {
  run_ranks(1, [](numbers_of_rank) {
    int number = 0, flag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Request_free(&request), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Cancel(&request), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
    MPI_Request copy = request;
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Test(&copy, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Waitall(1, &copy, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Request_get_status(copy, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
  });
}

TEST(mpi_requests, sends_and_receives_whose_requests_are_freed_while_active_complete) {
  // 3.7.3: an operation of a freed request completes; the program knows it by other messages.
  run_ranks(2, [](numbers_of_rank mine) {
    constexpr std::size_t messages = 300;
    std::vector<int> numbers(messages * 1000);
    if (mine.rank == 0) std::iota(numbers.begin(), numbers.end(), 0);
    for (std::size_t each = 0; each < messages; ++each) {
      int* const at = &numbers[each * 1000];
      const int tag = static_cast<int>(each);
      MPI_Request request = MPI_REQUEST_NULL;
      const int error = mine.rank == 0 ? MPI_Issend(at, 1000, MPI_INT, 1, tag, MPI_COMM_WORLD, &request)
                                       : MPI_Irecv(at, 1000, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
      EXPECT_EQ(error, MPI_SUCCESS);
      EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
      EXPECT_EQ(request, MPI_REQUEST_NULL);
    }
    if (mine.rank == 0) {
      // A synchronous message behind all others: its receive starts when they have been matched.
      EXPECT_EQ(MPI_Ssend(nullptr, 0, MPI_INT, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
      EXPECT_EQ(MPI_Recv(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    } else {
      EXPECT_EQ(MPI_Recv(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      int flag = 0;
      while (numbers.back() != static_cast<int>(numbers.size()) - 1 || numbers[999] != 999)
        EXPECT_EQ(MPI_Iprobe(0, 5000, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_Send(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD), MPI_SUCCESS);
    }
  });
}

TEST(mpi_requests, programs_write_statuses_of_their_own) {
  // 3.2.5 and 13.3: functions that set and get the fields of a status.
  run_ranks(1, [](numbers_of_rank) {
    MPI_Status status{};
    int value = 0;
    MPI_Count elements = 0;
    EXPECT_EQ(MPI_Status_set_source(&status, 3), MPI_SUCCESS);
    EXPECT_EQ(MPI_Status_set_tag(&status, 4), MPI_SUCCESS);
    EXPECT_EQ(MPI_Status_set_error(&status, MPI_ERR_TAG), MPI_SUCCESS);
    EXPECT_EQ(MPI_Status_set_elements(&status, MPI_DOUBLE_INT, 5), MPI_SUCCESS);
    EXPECT_EQ(MPI_Status_set_cancelled(&status, 1), MPI_SUCCESS);
    EXPECT_EQ(MPI_Status_get_source(&status, &value), MPI_SUCCESS);
    EXPECT_EQ(value, 3);
    EXPECT_EQ(MPI_Status_get_tag(&status, &value), MPI_SUCCESS);
    EXPECT_EQ(value, 4);
    EXPECT_EQ(MPI_Status_get_error(&status, &value), MPI_SUCCESS);
    EXPECT_EQ(value, MPI_ERR_TAG);
    EXPECT_EQ(MPI_Get_elements_c(&status, MPI_DOUBLE_INT, &elements), MPI_SUCCESS);
    EXPECT_EQ(elements, 5);
    EXPECT_EQ(MPI_Get_count(&status, MPI_DOUBLE_INT, &value), MPI_SUCCESS);
    EXPECT_EQ(value, MPI_UNDEFINED);  // two pairs and a half
    EXPECT_EQ(MPI_Test_cancelled(&status, &value), MPI_SUCCESS);
    EXPECT_EQ(value, 1);
    EXPECT_EQ(MPI_Status_set_elements_c(&status, MPI_INT, MPI_Count{1} << 40), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_count(&status, MPI_INT, &value), MPI_SUCCESS);
    EXPECT_EQ(value, MPI_UNDEFINED);  // more than an int holds
    EXPECT_EQ(MPI_Status_set_tag(MPI_STATUS_IGNORE, 4), MPI_ERR_ARG);
  });
}

}  // namespace
}  // namespace weft
