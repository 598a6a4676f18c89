// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives of predefined datatypes, their statuses and errors.
#include <chrono>
#include <future>
#include <numeric>
#include <vector>

#include "mpi/ranks.hpp"
#include "support/waiting.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

int count_of_ints(const MPI_Status& status) {
  int out = 0;
  EXPECT_EQ(MPI_Get_count(&status, MPI_INT, &out), MPI_SUCCESS);
  return out;
}

std::vector<int> numbers_from(int first, std::size_t count) {
  std::vector<int> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

TEST(mpi_point_to_point, a_message_arrives_with_source_tag_and_count) {
  run_ranks(2, [](numbers_of_rank mine) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{300'000}}) {
      std::vector<int> numbers = mine.rank == 0 ? numbers_from(7, count) : std::vector<int>(count);
      const int length = static_cast<int>(count);
      if (mine.rank == 0) {
        EXPECT_EQ(MPI_Send(numbers.data(), length, MPI_INT, 1, 3, MPI_COMM_WORLD), MPI_SUCCESS);
      } else {
        MPI_Status status{};
        status.MPI_ERROR = 77;
        EXPECT_EQ(MPI_Recv(numbers.data(), length, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status),
                  MPI_SUCCESS);
        EXPECT_EQ(numbers, numbers_from(7, count));
        EXPECT_EQ(status.MPI_SOURCE, 0);
        EXPECT_EQ(status.MPI_TAG, 3);
        EXPECT_EQ(status.MPI_ERROR, 77);
        EXPECT_EQ(count_of_ints(status), length);
      }
    }
  });
}

TEST(mpi_point_to_point, sends_start_while_the_peer_makes_no_progress_and_are_received_in_their_order) {
  std::promise<void> are_started;
  const std::future<void> started = are_started.get_future();
  const auto body = [&](numbers_of_rank mine) {
    constexpr int messages = 2000;  // more than the ring has room for
    if (mine.rank == 0) {
      std::vector<MPI_Request> requests(messages, MPI_REQUEST_NULL);
      const std::vector<int> numbers = numbers_from(0, messages);
      for (std::size_t each = 0; each < messages; ++each) {
        EXPECT_EQ(MPI_Isend(&numbers[each], 1, MPI_INT, 1, static_cast<int>(each % 5), MPI_COMM_WORLD, &requests[each]),
                  MPI_SUCCESS);
      }
      are_started.set_value();
      EXPECT_EQ(MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    } else {
      EXPECT_EQ(started.wait_for(std::chrono::seconds{100}), std::future_status::ready);
      for (int each = 0; each < messages; ++each) {
        int number = -1;
        EXPECT_EQ(MPI_Recv(&number, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(number, each);
      }
    }
  };
  run_ranks(2, body, {.ring_cells = 64});
}

// Each rank sends all of its messages before it receives one. They are more than may wait in packets, and the packets
// are fewer than the messages that are under way.
void send_bursts_before_receives(int ranks, int messages, std::size_t bytes, const runtime_options& options) {
  const auto body = [&](numbers_of_rank mine) {
    const auto count = static_cast<int>(bytes);
    std::vector<std::vector<std::byte>> sent;
    std::vector<MPI_Request> requests;
    for (int tag = 0; tag < messages; ++tag) {
      sent.emplace_back(bytes, static_cast<std::byte>(tag + mine.rank));
      for (int peer = 0; peer < ranks; ++peer) {
        EXPECT_EQ(MPI_Isend(sent.back().data(), count, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &requests.emplace_back()),
                  MPI_SUCCESS);
      }
    }
    const auto are_sent = [&] {
      int done = 0;
      EXPECT_EQ(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
                MPI_SUCCESS);
      return done != 0;
    };
    EXPECT_TRUE(test::eventually(are_sent)) << "sends of " << bytes << " bytes wait for their receives";
    std::vector<std::byte> received(bytes);
    for (int tag = messages; tag-- > 0;) {
      for (int peer = 0; peer < ranks; ++peer) {
        EXPECT_EQ(MPI_Recv(received.data(), count, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
        ASSERT_EQ(received, std::vector<std::byte>(bytes, static_cast<std::byte>(tag + peer)));
      }
    }
    EXPECT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  };
  run_ranks(static_cast<std::uint32_t>(ranks), body, options);
}

TEST(mpi_point_to_point, sends_up_to_a_packet_return_before_any_rank_receives) {
  send_bursts_before_receives(2, 1500, 41, {});
  send_bursts_before_receives(2, 1500, 8192, {});
  send_bursts_before_receives(5, 200, 41, {.packet_count = 64});
  send_bursts_before_receives(5, 200, 8192, {.packet_count = 64, .ring_cells = 16});
}

TEST(mpi_point_to_point, both_ranks_send_and_receive_in_one_call) {
  run_ranks(2, [](numbers_of_rank mine) {
    const std::vector<int> sent = numbers_from(mine.rank, 50'000);
    std::vector<int> received(sent.size());
    MPI_Status status{};
    EXPECT_EQ(MPI_Sendrecv(sent.data(), 50'000, MPI_INT, 1 - mine.rank, 1, received.data(), 50'000, MPI_INT,
                           1 - mine.rank, 1, MPI_COMM_WORLD, &status),
              MPI_SUCCESS);
    EXPECT_EQ(received, numbers_from(1 - mine.rank, sent.size()));
    EXPECT_EQ(status.MPI_SOURCE, 1 - mine.rank);
  });
}

TEST(mpi_point_to_point, a_message_longer_than_its_buffer_is_an_error_and_writes_nothing) {
  run_ranks(2, [](numbers_of_rank mine) {
    std::vector<int> numbers(4, mine.rank == 0 ? 5 : -1);
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Send(numbers.data(), 4, MPI_INT, 1, 8, MPI_COMM_WORLD), MPI_SUCCESS);
      return;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    EXPECT_EQ(MPI_Irecv(numbers.data(), 3, MPI_INT, 0, 8, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitall(1, &request, &status), MPI_ERR_IN_STATUS);
    EXPECT_EQ(status.MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_EQ(status.MPI_SOURCE, 0);
    EXPECT_EQ(status.MPI_TAG, 8);
    EXPECT_EQ(numbers, std::vector<int>(4, -1));
    EXPECT_EQ(request, MPI_REQUEST_NULL);
  });
}

TEST(mpi_point_to_point, no_process_and_no_request_are_complete_at_once) {
  run_ranks(1, [](numbers_of_rank) {
    int number = 4;
    MPI_Status status{};
    EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(MPI_Recv(&number, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status), MPI_SUCCESS);
    EXPECT_EQ(number, 4);
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
    EXPECT_EQ(count_of_ints(status), 0);
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;
    EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Test(&request, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  });
}

TEST(mpi_point_to_point, a_rank_sends_to_itself_in_both_communicators) {
  run_ranks(2, [](numbers_of_rank mine) {
    for (const MPI_Comm in : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
      const int me = in == MPI_COMM_SELF ? 0 : mine.rank;
      int sent = 10 + mine.rank, received = 0;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Status status{};
      EXPECT_EQ(MPI_Irecv(&received, 1, MPI_INT, me, 0, in, &request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Send(&sent, 1, MPI_INT, me, 0, in), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
      EXPECT_EQ(received, sent);
      EXPECT_EQ(status.MPI_SOURCE, me);
    }
  });
}

TEST(mpi_point_to_point, wrong_arguments_have_the_class_of_the_argument) {
  run_ranks(1, [](numbers_of_rank) {
    int number = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    EXPECT_EQ(MPI_Send(&number, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    EXPECT_EQ(MPI_Send(&number, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
    EXPECT_EQ(MPI_Send(nullptr, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, 7, 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
    EXPECT_EQ(MPI_Bcast(&number, 1, MPI_INT, 1, MPI_COMM_WORLD), MPI_ERR_ROOT);
  });
}

TEST(mpi_point_to_point, a_function_that_is_absent_returns_an_error) {
  run_ranks(1, [](numbers_of_rank) {
    MPI_Win window = MPI_WIN_NULL;
    EXPECT_EQ(MPI_Win_create(nullptr, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window), MPI_ERR_UNSUPPORTED_OPERATION);
  });
}

}  // namespace
}  // namespace weft
