// SPDX-License-Identifier: BSD-3-Clause
// Messages and requests of several threads of a rank: MPI_THREAD_MULTIPLE (11.6).
#include <array>
#include <atomic>
#include <barrier>
#include <numeric>
#include <vector>

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;
using test::run_threads_of_rank;

constexpr int threads_of_rank = 3;

void run_multiple(std::uint32_t ranks, const std::function<void(numbers_of_rank)>& body) {
  run_ranks(ranks, body, {.ring_cells = 64}, MPI_THREAD_MULTIPLE);
}

TEST(mpi_request_threads, threads_exchange_messages_of_all_modes_in_one_communicator) {
  run_multiple(2, [](numbers_of_rank mine) {
    EXPECT_EQ(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
    run_threads_of_rank(threads_of_rank, [&](int thread) {
      std::vector<int> sent(3000), received(3000);
      for (int round = 0; round < 20; ++round) {
        const int count = round % 3 == 0 ? 1 : 3000;
        sent.assign(sent.size(), 100 * thread + round);
        std::array<MPI_Request, 5> requests{};
        for (std::size_t each = 0; each < 4; ++each) {
          EXPECT_EQ(MPI_Irecv(received.data(), each == 0 ? count : 0, MPI_INT, 1 - mine.rank, thread, MPI_COMM_WORLD,
                              &requests[each]),
                    MPI_SUCCESS);
        }
        EXPECT_EQ(MPI_Isend(sent.data(), count, MPI_INT, 1 - mine.rank, thread, MPI_COMM_WORLD, &requests[4]),
                  MPI_SUCCESS);
        EXPECT_EQ(MPI_Ssend(sent.data(), 0, MPI_INT, 1 - mine.rank, thread, MPI_COMM_WORLD), MPI_SUCCESS);
        EXPECT_EQ(MPI_Bsend(sent.data(), 0, MPI_INT, 1 - mine.rank, thread, MPI_COMM_WORLD), MPI_SUCCESS);
        EXPECT_EQ(MPI_Send(sent.data(), 0, MPI_INT, 1 - mine.rank, thread, MPI_COMM_WORLD), MPI_SUCCESS);
        EXPECT_EQ(MPI_Waitall(5, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(received[static_cast<std::size_t>(count) - 1], 100 * thread + round);
      }
    });
    void* address = nullptr;
    int bytes = 0;
    EXPECT_EQ(MPI_Buffer_detach(&address, &bytes), MPI_SUCCESS);
  });
}

TEST(mpi_request_threads, one_thread_completes_the_requests_that_others_have_started) {
  run_multiple(2, [](numbers_of_rank mine) {
    constexpr int each_starts = 40;
    std::vector<int> numbers(threads_of_rank * each_starts, -1);
    std::vector<MPI_Request> requests(numbers.size(), MPI_REQUEST_NULL);
    run_threads_of_rank(threads_of_rank, [&](int thread) {
      for (int each = 0; each < each_starts; ++each) {
        const int tag = thread * each_starts + each;
        const auto at = static_cast<std::size_t>(tag);
        if (mine.rank == 0) {
          numbers[at] = tag;
          EXPECT_EQ(MPI_Isend(&numbers[at], 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &requests[at]), MPI_SUCCESS);
        } else {
          EXPECT_EQ(MPI_Irecv(&numbers[at], 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &requests[at]), MPI_SUCCESS);
        }
      }
    });
    int open = static_cast<int>(requests.size());
    std::vector<int> indices(requests.size());
    while (open > 0) {
      int done = 0;
      EXPECT_EQ(
          MPI_Waitsome(static_cast<int>(requests.size()), requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE),
          MPI_SUCCESS);
      ASSERT_GT(done, 0);
      open -= done;
    }
    for (std::size_t each = 0; each < numbers.size(); ++each) EXPECT_EQ(numbers[each], static_cast<int>(each));
  });
}

// The messages of a thread and the requests for them; another thread completes these.
struct started_messages {
  static constexpr std::size_t count = 8;
  std::array<int, count> sent{}, received{};
  std::array<MPI_Request, 2 * count> requests{};

  void start(int peer, int tag, int round) {
    for (std::size_t each = 0; each < count; ++each) {
      sent[each] = 1000 * round + static_cast<int>(each);
      EXPECT_EQ(MPI_Irecv(&received[each], 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &requests[2 * each]), MPI_SUCCESS);
      EXPECT_EQ(MPI_Isend(&sent[each], 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &requests[2 * each + 1]), MPI_SUCCESS);
    }
  }
  void complete() {
    EXPECT_EQ(MPI_Waitall(2 * count, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(received, sent);
  }
};

// In each round every thread starts requests, and completes those of another one.
void complete_for_others(std::uint32_t ranks, int threads, int rounds) {
  run_multiple(ranks, [=](numbers_of_rank mine) {
    std::vector<started_messages> of_threads(static_cast<std::size_t>(threads));
    std::barrier all{threads};
    run_threads_of_rank(threads, [&](int thread) {
      for (int round = 0; round < rounds; ++round) {
        of_threads[static_cast<std::size_t>(thread)].start(mine.size - 1 - mine.rank, thread, round);
        all.arrive_and_wait();
        of_threads[static_cast<std::size_t>((thread + 1 + round) % threads)].complete();
        all.arrive_and_wait();
      }
    });
  });
}

TEST(mpi_request_threads, sixteen_threads_of_a_rank_complete_requests_that_others_have_started) {
  complete_for_others(1, 16, 2 * WEFT_TEST_MIXTURES);
}

TEST(mpi_request_threads, eight_threads_of_each_rank_complete_requests_that_others_have_started) {
  complete_for_others(2, 8, WEFT_TEST_MIXTURES);
}

TEST(mpi_request_threads, threads_end_with_requests_pending_that_later_threads_complete) {
  run_multiple(2, [](numbers_of_rank mine) {
    std::array<started_messages, threads_of_rank> of_threads{};
    for (int round = 0; round < 10; ++round) {
      run_threads_of_rank(threads_of_rank, [&](int thread) {
        of_threads[static_cast<std::size_t>(thread)].start(1 - mine.rank, thread, round);
      });
      // These have the slots of the threads above.
      run_threads_of_rank(threads_of_rank, [&](int thread) {
        of_threads[static_cast<std::size_t>((thread + 1) % threads_of_rank)].complete();
      });
    }
  });
}

TEST(mpi_request_threads, matched_probes_of_several_threads_give_each_message_to_one_of_them) {
  // 3.8.2: what MPI_Probe cannot do with threads: no other receive can match the message.
  run_multiple(2, [](numbers_of_rank mine) {
    constexpr int each_receives = 30;
    std::atomic<int> sum{0};
    run_threads_of_rank(threads_of_rank, [&](int thread) {
      for (int each = 0; each < each_receives; ++each) {
        int number = thread * each_receives + each;
        if (mine.rank == 0) {
          EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, 1, number % 4, MPI_COMM_WORLD), MPI_SUCCESS);
          continue;
        }
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status{};
        EXPECT_EQ(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status), MPI_SUCCESS);
        EXPECT_EQ(MPI_Mrecv(&number, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(status.MPI_TAG, number % 4);
        sum += number;
      }
    });
    constexpr int all = threads_of_rank * each_receives;
    if (mine.rank == 1) {
      EXPECT_EQ(sum, all * (all - 1) / 2);
    }
  });
}

TEST(mpi_request_threads, persistent_and_combined_operations_of_several_threads) {
  run_multiple(2, [](numbers_of_rank mine) {
    run_threads_of_rank(threads_of_rank, [&](int thread) {
      int sent = 0, received = -1, replaced = -1;
      std::array<MPI_Request, 2> requests{};
      const int peer = 1 - mine.rank;
      EXPECT_EQ(MPI_Send_init(&sent, 1, MPI_INT, peer, thread, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
      EXPECT_EQ(MPI_Recv_init(&received, 1, MPI_INT, peer, thread, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
      for (int round = 0; round < 20; ++round) {
        sent = round;
        EXPECT_EQ(MPI_Startall(2, requests.data()), MPI_SUCCESS);
        EXPECT_EQ(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(received, round);
        replaced = mine.rank;
        MPI_Request request = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Isendrecv_replace(&replaced, 1, MPI_INT, peer, thread, peer, thread, MPI_COMM_WORLD, &request),
                  MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(replaced, peer);
      }
      for (MPI_Request& each : requests) EXPECT_EQ(MPI_Request_free(&each), MPI_SUCCESS);
    });
  });
}

TEST(mpi_request_threads, requests_are_freed_and_receives_cancelled_by_several_threads) {
  run_multiple(2, [](numbers_of_rank mine) {
    std::vector<int> numbers(threads_of_rank * 100);
    run_threads_of_rank(threads_of_rank, [&](int thread) {
      for (int each = 0; each < 100; ++each) {
        int* const at = &numbers[static_cast<std::size_t>(thread * 100 + each)];
        MPI_Request request = MPI_REQUEST_NULL;
        int unused = 0, flag = 0;
        if (mine.rank == 0) {
          EXPECT_EQ(MPI_Isend(at, 1, MPI_INT, 1, thread, MPI_COMM_WORLD, &request), MPI_SUCCESS);
          EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
        } else {
          EXPECT_EQ(MPI_Recv(at, 1, MPI_INT, 0, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
        MPI_Status status{};
        EXPECT_EQ(MPI_Irecv(&unused, 1, MPI_INT, 1 - mine.rank, 100 + thread, MPI_COMM_WORLD, &request), MPI_SUCCESS);
        EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
        EXPECT_EQ(MPI_Test_cancelled(&status, &flag), MPI_SUCCESS);
        EXPECT_EQ(flag, 1);
      }
    });
    // Rank 1 has received all then, and the buffers of the sends whose requests were freed are the program's again.
    EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace weft
