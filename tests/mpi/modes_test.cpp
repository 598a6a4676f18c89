// SPDX-License-Identifier: BSD-3-Clause
// The modes of sends (3.4), and sends that are combined with receives (3.10).
#include <numeric>
#include <vector>

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

std::vector<int> sequence_from(int first, std::size_t count) {
  std::vector<int> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

TEST(mpi_modes, a_synchronous_send_is_complete_only_after_its_receive_has_started) {
  // 3.4: it completes only if a matching receive has started.
  run_ranks(2, [](numbers_of_rank mine) {
    int number = 5;
    if (mine.rank == 0) {
      MPI_Request request = MPI_REQUEST_NULL;
      int flag = 1;
      EXPECT_EQ(MPI_Issend(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
      for (int each = 0; each < 100; ++each) {
        EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(flag, 0);
      }
      EXPECT_EQ(MPI_Send(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_Ssend(&number, 1, MPI_INT, 1, 2, MPI_COMM_WORLD), MPI_SUCCESS);
    } else {
      EXPECT_EQ(MPI_Recv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      for (const int tag : {0, 2}) {
        int received = 0;
        EXPECT_EQ(MPI_Recv(&received, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(received, number);
      }
    }
  });
}

TEST(mpi_modes, messages_of_all_modes_to_one_rank_are_received_in_their_order) {
  // 3.5: messages of one sender that match one receive do not overtake each other, of any mode.
  run_ranks(2, [](numbers_of_rank mine) {
    constexpr int rounds = 20;
    std::vector<int> numbers = sequence_from(0, 4 * rounds);
    std::vector<MPI_Request> requests(numbers.size(), MPI_REQUEST_NULL);
    if (mine.rank == 1) {
      for (int& each : numbers) {
        int received = -1;
        EXPECT_EQ(MPI_Recv(&received, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(received, each);
      }
      return;
    }
    std::vector<char> buffer(rounds * (sizeof(int) + MPI_BSEND_OVERHEAD));
    EXPECT_EQ(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())), MPI_SUCCESS);
    for (std::size_t each = 0; each < numbers.size(); each += 4) {
      int* const at = &numbers[each];
      MPI_Request* const to = &requests[each];
      EXPECT_EQ(MPI_Isend(at, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, to), MPI_SUCCESS);
      EXPECT_EQ(MPI_Issend(at + 1, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, to + 1), MPI_SUCCESS);
      EXPECT_EQ(MPI_Ibsend(at + 2, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, to + 2), MPI_SUCCESS);
      EXPECT_EQ(MPI_Irsend(at + 3, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, to + 3), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Waitall(4 * rounds, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    void* address = nullptr;
    int bytes = 0;
    EXPECT_EQ(MPI_Buffer_detach(&address, &bytes), MPI_SUCCESS);
    EXPECT_EQ(address, buffer.data());
    EXPECT_EQ(bytes, static_cast<int>(buffer.size()));
  });
}

TEST(mpi_modes, one_buffer_is_sent_and_replaced) {
  // 3.10: the message received replaces the message sent, also if it is shorter.
  run_ranks(2, [](numbers_of_rank mine) {
    for (const int count : {3, 100'000}) {
      std::vector<int> numbers = sequence_from(mine.rank, static_cast<std::size_t>(count));
      MPI_Status status{};
      EXPECT_EQ(MPI_Sendrecv_replace(numbers.data(), count, MPI_INT, 1 - mine.rank, 1, 1 - mine.rank, 1, MPI_COMM_WORLD,
                                     &status),
                MPI_SUCCESS);
      EXPECT_EQ(numbers, sequence_from(1 - mine.rank, numbers.size()));
      EXPECT_EQ(status.MPI_SOURCE, 1 - mine.rank);
    }
  });
}

TEST(mpi_modes, a_strided_buffer_is_replaced_without_its_gaps) {
  run_ranks(2, [](numbers_of_rank mine) {
    MPI_Datatype every_second = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_vector(3, 1, 2, MPI_INT, &every_second), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_commit(&every_second), MPI_SUCCESS);
    std::vector<int> numbers(6, mine.rank);
    for (const bool waits : {true, false}) {
      numbers.assign(6, mine.rank);
      MPI_Request request = MPI_REQUEST_NULL;
      if (waits) {
        EXPECT_EQ(MPI_Sendrecv_replace(numbers.data(), 1, every_second, 1 - mine.rank, 1, 1 - mine.rank, 1,
                                       MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
      } else {
        EXPECT_EQ(MPI_Isendrecv_replace(numbers.data(), 1, every_second, 1 - mine.rank, 1, 1 - mine.rank, 1,
                                        MPI_COMM_WORLD, &request),
                  MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
      const int peer = 1 - mine.rank;
      EXPECT_EQ(numbers, (std::vector<int>{peer, mine.rank, peer, mine.rank, peer, mine.rank}));
    }
    EXPECT_EQ(MPI_Type_free(&every_second), MPI_SUCCESS);
  });
}

TEST(mpi_modes, a_started_exchange_is_complete_when_both_halves_are_and_has_the_status_of_its_receive) {
  run_ranks(2, [](numbers_of_rank mine) {
    const std::vector<int> sent = sequence_from(mine.rank, 70'000);
    std::vector<int> received(sent.size());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    EXPECT_EQ(MPI_Isendrecv(sent.data(), 70'000, MPI_INT, 1 - mine.rank, 4, received.data(), 70'000, MPI_INT,
                            MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_EQ(received, sequence_from(1 - mine.rank, sent.size()));
    EXPECT_EQ(status.MPI_SOURCE, 1 - mine.rank);
    EXPECT_EQ(status.MPI_TAG, 4);
    int count = 0;
    EXPECT_EQ(MPI_Get_count(&status, MPI_INT, &count), MPI_SUCCESS);
    EXPECT_EQ(count, 70'000);
  });
}

TEST(mpi_modes, no_process_is_a_peer_of_every_mode) {
  // 3.11: communication with MPI_PROC_NULL has no effect; its receives have an empty status with that source.
  run_ranks(1, [](numbers_of_rank) {
    int number = 4;
    MPI_Status status{};
    EXPECT_EQ(MPI_Ssend(&number, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(MPI_Rsend(&number, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(MPI_Bsend(&number, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(MPI_Sendrecv_replace(&number, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status),
              MPI_SUCCESS);
    EXPECT_EQ(number, 4);
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Isendrecv(&number, 1, MPI_INT, MPI_PROC_NULL, 0, &number, 1, MPI_INT, MPI_PROC_NULL, 0,
                            MPI_COMM_WORLD, &request),
              MPI_SUCCESS);
    status = {};
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
  });
}

}  // namespace
}  // namespace weft
