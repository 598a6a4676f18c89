// SPDX-License-Identifier: BSD-3-Clause
// Messages of stream communicators. Numbers of devices differ between ranks, and other streams are never polled.
#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <numeric>
#include <vector>

#include "mpi/streams.hpp"

namespace weft {
namespace {

using test::arrivals_at;
using test::hook_body;
using test::idle_streams;
using test::numbers_of_rank;
using test::own_stream;
using test::start_hook;
using test::stream_comm;

void exchange(MPI_Comm comm, int peer, int rounds) {
  constexpr int ints_max = 30'000;
  std::vector<int> sent(ints_max), received(ints_max);
  for (int round = 0; round < rounds; ++round) {
    const int count = round % 50 == 49 ? ints_max : round % 300;
    std::iota(sent.begin(), sent.begin() + count, round);
    MPI_Status status;
    EXPECT_EQ(
        MPI_Sendrecv(sent.data(), count, MPI_INT, peer, round % 5, received.data(), ints_max, MPI_INT,
                     round % 3 == 0 ? MPI_ANY_SOURCE : peer, round % 7 == 0 ? MPI_ANY_TAG : round % 5, comm, &status),
        MPI_SUCCESS);
    int got = -1;
    EXPECT_EQ(MPI_Get_count(&status, MPI_INT, &got), MPI_SUCCESS);
    ASSERT_EQ(got, count);
    EXPECT_EQ(status.MPI_SOURCE, peer);
    EXPECT_EQ(status.MPI_TAG, round % 5);
    EXPECT_TRUE(std::equal(sent.begin(), sent.begin() + count, received.begin()));
  }
}

void exchange_around(MPI_Comm comm, numbers_of_rank mine, int rounds) {
  const int next = (mine.rank + 1) % mine.size, before = (mine.rank + mine.size - 1) % mine.size;
  for (int round = 0; round < rounds; ++round) {
    int received = -1;
    EXPECT_EQ(MPI_Sendrecv(&mine.rank, 1, MPI_INT, next, 0, &received, 1, MPI_INT, before, 0, comm, MPI_STATUS_IGNORE),
              MPI_SUCCESS);
    EXPECT_EQ(received, before);
  }
}

TEST(mpi_stream_communicators, exchange_messages_between_devices_of_different_numbers) {
  test::run_stream_ranks(2, [](numbers_of_rank mine) {
    const auto idle = idle_streams(mine.rank);
    const own_stream stream;
    const stream_comm comm{stream.handle()};
    exchange(comm.handle(), 1 - mine.rank, 300);
    EXPECT_GE(arrivals_at(stream.handle()), 300U);
  });
}

TEST(mpi_stream_communicators, send_more_than_may_be_under_way_though_other_streams_are_never_polled) {
  test::run_stream_ranks(2, [](numbers_of_rank mine) {
    const auto idle = idle_streams(3 * mine.rank);
    const own_stream stream;
    const stream_comm comm{stream.handle()};
    constexpr int count = 9000;
    std::vector<int> values(count);
    std::vector<MPI_Request> requests(count);
    for (int each = 0; each < count; ++each) {
      const auto at = static_cast<std::size_t>(each);
      if (mine.rank == 0) {
        values[at] = each;
        EXPECT_EQ(MPI_Isend(&values[at], 1, MPI_INT, 1, 1, comm.handle(), &requests[at]), MPI_SUCCESS);
      } else {
        EXPECT_EQ(MPI_Irecv(&values[at], 1, MPI_INT, 0, 1, comm.handle(), &requests[at]), MPI_SUCCESS);
      }
    }
    EXPECT_EQ(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int each = 0; each < count; ++each) EXPECT_EQ(values[static_cast<std::size_t>(each)], each);
  });
}

TEST(mpi_stream_communicators, may_be_the_default_one_at_some_members) {
  test::run_stream_ranks(3, [](numbers_of_rank mine) {
    const own_stream stream;
    const stream_comm comm{mine.rank == 1 ? MPIX_STREAM_NULL : stream.handle()};
    MPIX_Stream found = nullptr;
    EXPECT_EQ(MPIX_Comm_get_stream(comm.handle(), 0, &found), MPI_SUCCESS);
    EXPECT_EQ(found, mine.rank == 1 ? MPIX_STREAM_NULL : stream.handle());
    exchange_around(comm.handle(), mine, 100);
  });
}

TEST(mpi_stream_communicators, take_all_calls_of_point_to_point_messages) {
  test::run_stream_ranks(2, [](numbers_of_rank mine) {
    const auto idle = idle_streams(mine.rank);
    const own_stream stream;
    const stream_comm comm{stream.handle()};
    const int peer = 1 - mine.rank;
    int number = 7 + mine.rank, got = -1, flag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    // Tests alone make progress on the stream.
    EXPECT_EQ(MPI_Irecv(&got, 1, MPI_INT, peer, 1, comm.handle(), &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, peer, 1, comm.handle()), MPI_SUCCESS);
    while (flag == 0) EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(got, 7 + peer);
    // Progress on the stream alone.
    EXPECT_EQ(MPI_Irecv(&got, 1, MPI_INT, peer, 2, comm.handle(), &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Ssend(&number, 1, MPI_INT, mine.rank == 0 ? 1 : MPI_PROC_NULL, 2, comm.handle()), MPI_SUCCESS);
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
    } else {
      while (MPIX_Request_is_complete(request) == 0) stream.make_progress();
    }
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    // Probes.
    EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, peer, 3, comm.handle()), MPI_SUCCESS);
    MPI_Status status;
    EXPECT_EQ(MPI_Probe(MPI_ANY_SOURCE, 3, comm.handle(), &status), MPI_SUCCESS);
    MPI_Message message = MPI_MESSAGE_NULL;
    EXPECT_EQ(MPI_Mprobe(peer, 3, comm.handle(), &message, &status), MPI_SUCCESS);
    EXPECT_EQ(MPI_Mrecv(&got, 1, MPI_INT, &message, &status), MPI_SUCCESS);
    // Persistent ones.
    std::array<MPI_Request, 2> both{};
    EXPECT_EQ(MPI_Recv_init(&got, 1, MPI_INT, peer, 4, comm.handle(), &both[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Send_init(&number, 1, MPI_INT, peer, 4, comm.handle(), &both[1]), MPI_SUCCESS);
    for (int round = 0; round < 20; ++round) {
      number = round;
      EXPECT_EQ(MPI_Startall(2, both.data()), MPI_SUCCESS);
      EXPECT_EQ(MPI_Waitall(2, both.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(got, round);
    }
    for (MPI_Request& each : both) EXPECT_EQ(MPI_Request_free(&each), MPI_SUCCESS);
  });
}

TEST(mpi_stream_communicators, are_waited_for_beside_other_communicators) {
  test::run_stream_ranks(2, [](numbers_of_rank mine) {
    const own_stream one, other;
    const stream_comm first{one.handle()}, second{mine.rank == 0 ? other.handle() : MPIX_STREAM_NULL};
    const std::array<MPI_Comm, 3> comms{MPI_COMM_WORLD, first.handle(), second.handle()};
    for (int round = 0; round < 60; ++round) {
      std::array<int, 3> got{-1, -1, -1};
      std::array<MPI_Request, 3> requests{};
      for (std::size_t each = 0; each < comms.size(); ++each)
        EXPECT_EQ(MPI_Irecv(&got[each], 1, MPI_INT, 1 - mine.rank, 0, comms[each], &requests[each]), MPI_SUCCESS);
      for (std::size_t each = comms.size(); each-- != 0;)
        EXPECT_EQ(MPI_Send(&round, 1, MPI_INT, 1 - mine.rank, 0, comms[each]), MPI_SUCCESS);
      if (round % 3 == 0) {
        EXPECT_EQ(MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
      } else {
        for (int left = 3, index = 0; left > 0; --left) {
          int flag = round % 3 == 1 ? 0 : 1;
          while (flag == 0) EXPECT_EQ(MPI_Testany(3, requests.data(), &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
          if (round % 3 == 2) {
            EXPECT_EQ(MPI_Waitany(3, requests.data(), &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
          }
        }
      }
      EXPECT_EQ(got, (std::array<int, 3>{round, round, round}));
    }
  });
}

// The message of another communicator, whose receive is the first, is sent after the stream's.
TEST(mpi_stream_communicators, are_waited_for_where_the_first_request_is_of_another_one) {
  test::run_stream_ranks(2, [](numbers_of_rank mine) {
    const own_stream stream;
    const stream_comm comm{stream.handle()};
    const int peer = 1 - mine.rank;
    for (int round = 0; round < 30; ++round) {
      int got = -1;
      if (mine.rank == 1) {
        EXPECT_EQ(MPI_Send(&round, 1, MPI_INT, peer, 0, comm.handle()), MPI_SUCCESS);
        EXPECT_EQ(MPI_Recv(&got, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(MPI_Send(&round, 1, MPI_INT, peer, 2, MPI_COMM_WORLD), MPI_SUCCESS);
        continue;
      }
      int later = -1, index = -1, flag = 0, count = 0;
      std::array<MPI_Request, 2> requests{};
      EXPECT_EQ(MPI_Irecv(&later, 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
      EXPECT_EQ(MPI_Irecv(&got, 1, MPI_INT, peer, 0, comm.handle(), &requests[1]), MPI_SUCCESS);
      if (round % 3 == 0) {
        EXPECT_EQ(MPI_Waitany(2, requests.data(), &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
      } else if (round % 3 == 1) {
        EXPECT_EQ(MPI_Waitsome(2, requests.data(), &count, &index, MPI_STATUSES_IGNORE), MPI_SUCCESS);
      } else {
        while (flag == 0) EXPECT_EQ(MPI_Testany(2, requests.data(), &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
      EXPECT_EQ(index, 1);
      EXPECT_EQ(got, round);
      EXPECT_EQ(MPI_Send(&round, 1, MPI_INT, peer, 1, MPI_COMM_WORLD), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(later, round);
    }
  });
}

TEST(mpi_stream_communicators, have_collectives_and_duplicates) {
  test::run_stream_ranks(3, [](numbers_of_rank mine) {
    const auto idle = idle_streams(mine.rank);
    const own_stream stream;
    const stream_comm comm{stream.handle()};
    for (int round = 0; round < 200; ++round) {
      const int value = mine.rank + round;
      int sum = 0;
      EXPECT_EQ(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm.handle()), MPI_SUCCESS);
      EXPECT_EQ(sum, 3 + 3 * round);
      MPI_Request request = MPI_REQUEST_NULL;
      EXPECT_EQ(MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_MAX, comm.handle(), &request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(sum, 2 + round);
    }
    MPI_Comm duplicate = MPI_COMM_NULL;
    EXPECT_EQ(MPI_Comm_dup(comm.handle(), &duplicate), MPI_SUCCESS);
    MPIX_Stream found = nullptr;
    EXPECT_EQ(MPIX_Comm_get_stream(duplicate, 0, &found), MPI_SUCCESS);
    EXPECT_EQ(found, stream.handle());
    exchange_around(duplicate, mine, 50);
    EXPECT_EQ(MPI_Comm_free(&duplicate), MPI_SUCCESS);
    MPI_Request made = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Comm_idup(comm.handle(), &duplicate, &made), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&made, MPI_STATUS_IGNORE), MPI_SUCCESS);
    exchange_around(duplicate, mine, 50);
    EXPECT_EQ(MPI_Comm_free(&duplicate), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_split(comm.handle(), 0, mine.rank, &duplicate), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Comm_get_stream(duplicate, 0, &found), MPI_SUCCESS);
    EXPECT_EQ(found, MPIX_STREAM_NULL);
    exchange_around(duplicate, mine, 50);
    EXPECT_EQ(MPI_Comm_free(&duplicate), MPI_SUCCESS);
    MPI_Info info = MPI_INFO_NULL;
    int flag = 1, bytes = 20;
    std::array<char, 20> text{};
    EXPECT_EQ(MPI_Comm_get_info(comm.handle(), &info), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_get_string(info, "weft_vci", &bytes, text.data(), &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(MPI_Info_free(&info), MPI_SUCCESS);
  });
}

TEST(mpi_stream_communicators, of_several_threads_share_nothing) {
  test::run_stream_ranks(2, [](numbers_of_rank mine) {
    constexpr int threads = 3;
    std::vector<own_stream> streams(threads);
    std::deque<stream_comm> comms;
    for (int thread = 0; thread < threads; ++thread) {
      const int index = mine.rank == 0 ? thread : threads - 1 - thread;
      comms.emplace_back(streams[static_cast<std::size_t>(index)].handle());
    }
    test::run_threads_of_rank(threads, [&](int thread) {
      const MPI_Comm comm = comms[static_cast<std::size_t>(thread)].handle();
      MPIX_Stream own = MPIX_STREAM_NULL;
      EXPECT_EQ(MPIX_Comm_get_stream(comm, 0, &own), MPI_SUCCESS);
      int calls = 0;  // of one thread alone
      hook_body body = [&](MPIX_Async_thing) { return ++calls == 50; };
      start_hook(body, own);
      exchange(comm, 1 - mine.rank, 100);
      while (calls < 50) EXPECT_EQ(MPIX_Stream_progress(own), MPI_SUCCESS);
    });
    EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
  });
}

TEST(mpi_stream_communicators, are_taken_over_by_another_thread_that_is_ordered_behind_the_first) {
  test::run_stream_ranks(2, [](numbers_of_rank mine) {
    const own_stream stream;
    const stream_comm comm{stream.handle()};
    int calls = 0;
    hook_body body = [&](MPIX_Async_thing) { return ++calls == 30; };
    for (int round = 0; round < 4; ++round) {
      test::run_threads_of_rank(1, [&](int) {
        if (round == 1) start_hook(body, stream.handle());
        exchange(comm.handle(), 1 - mine.rank, 20);
        stream.make_progress(10);
      });
    }
    EXPECT_EQ(calls, 30);
  });
}

}  // namespace
}  // namespace weft
