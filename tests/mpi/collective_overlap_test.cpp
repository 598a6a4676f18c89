// SPDX-License-Identifier: BSD-3-Clause
// Several collectives at a time: nonblocking ones, blocking ones beside them, persistent ones that start again.
#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <vector>

#include "mpi/ranks.hpp"
#include "mpi/types.hpp"

namespace weft {
namespace {

using namespace test;

TEST(mpi_collective_overlap, many_are_complete_in_whatever_order_they_are_waited_for) {
  for (const std::uint32_t size : {1U, 3U, 8U}) {
    run_ranks(size, [](numbers_of_rank mine) {
      constexpr int many = 100;
      std::vector<int> sent(many), sums(many), from(many);
      std::vector<std::vector<int>> all(many, std::vector<int>(static_cast<std::size_t>(mine.size)));
      std::vector<MPI_Request> requests;
      const auto next = [&]() -> MPI_Request* { return &requests.emplace_back(MPI_REQUEST_NULL); };
      requests.reserve(4 * many);
      for (int i = 0; i < many; ++i) {
        const auto at = static_cast<std::size_t>(i);
        sent[at] = i * mine.rank;
        from[at] = i % mine.size == mine.rank ? 1000 + i : -1;
        EXPECT_EQ(MPI_Iallreduce(&sent[at], &sums[at], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, next()), MPI_SUCCESS);
        EXPECT_EQ(MPI_Ibcast(&from[at], 1, MPI_INT, i % mine.size, MPI_COMM_WORLD, next()), MPI_SUCCESS);
        EXPECT_EQ(MPI_Iallgather(&sent[at], 1, MPI_INT, all[at].data(), 1, MPI_INT, MPI_COMM_WORLD, next()),
                  MPI_SUCCESS);
        EXPECT_EQ(MPI_Ibarrier(MPI_COMM_WORLD, next()), MPI_SUCCESS);
        // A blocking one passes all that nobody waits for yet.
        if (i % 10 == 3) {
          int total = 0;
          EXPECT_EQ(MPI_Allreduce(&mine.rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
          EXPECT_EQ(total, mine.size * (mine.size - 1) / 2);
        }
      }
      std::shuffle(requests.begin(), requests.end(), std::mt19937{static_cast<unsigned>(mine.rank)});
      for (MPI_Request& each : requests) EXPECT_EQ(MPI_Wait(&each, MPI_STATUS_IGNORE), MPI_SUCCESS);
      for (int i = 0; i < many; ++i) {
        const auto at = static_cast<std::size_t>(i);
        EXPECT_EQ(sums[at], i * mine.size * (mine.size - 1) / 2);
        EXPECT_EQ(from[at], 1000 + i);
        for (int rank = 0; rank < mine.size; ++rank) EXPECT_EQ(all[at][static_cast<std::size_t>(rank)], i * rank);
      }
    });
  }
}

TEST(mpi_collective_overlap, a_test_of_any_request_moves_all_collectives_on) {
  run_ranks(4, [](numbers_of_rank mine) {
    // Rank 0 tests a receive alone, while the others need its part of collectives.
    std::array<MPI_Request, 2> begun{};
    int sum = 0, message = -1;
    EXPECT_EQ(MPI_Iallreduce(&mine.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &begun[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Ibarrier(MPI_COMM_WORLD, &begun[1]), MPI_SUCCESS);
    if (mine.rank == 0) {
      MPI_Request receive = MPI_REQUEST_NULL;
      EXPECT_EQ(MPI_Irecv(&message, 1, MPI_INT, 3, 5, MPI_COMM_WORLD, &receive), MPI_SUCCESS);
      for (int flag = 0; flag == 0;) EXPECT_EQ(MPI_Test(&receive, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(message, 77);
    }
    EXPECT_EQ(MPI_Waitall(2, begun.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(sum, 6);
    const int sent = 77;
    if (mine.rank == 3) {
      EXPECT_EQ(MPI_Send(&sent, 1, MPI_INT, 0, 5, MPI_COMM_WORLD), MPI_SUCCESS);
    }
  });
}

TEST(mpi_collective_overlap, a_persistent_collective_starts_again_with_what_its_buffers_have_then) {
  run_ranks(5, [](numbers_of_rank mine) {
    int sent = 0, sum = -1;
    std::vector<int> counts(5), offsets(5), all(25, -1);
    for (int rank = 0; rank < 5; ++rank) {
      counts[static_cast<std::size_t>(rank)] = rank;
      offsets[static_cast<std::size_t>(rank)] = 5 * (4 - rank);
    }
    std::vector<int> own(5);
    std::array<MPI_Request, 3> kept{};
    EXPECT_EQ(MPI_Allreduce_init(&sent, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &kept[0]),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Allgatherv_init(own.data(), mine.rank, MPI_INT, all.data(), counts.data(), offsets.data(), MPI_INT,
                                  MPI_COMM_WORLD, MPI_INFO_NULL, &kept[1]),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &kept[2]), MPI_SUCCESS);
    counts.assign(5, -1);  // the arrays are the program's again
    int flag = 0;
    EXPECT_EQ(MPI_Test(&kept[0], &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);  // it is inactive
    EXPECT_EQ(flag, 1);
    for (int round = 0; round < 200; ++round) {
      sent = round + mine.rank;
      std::fill(own.begin(), own.end(), 100 * round + mine.rank);
      EXPECT_EQ(MPI_Startall(3, kept.data()), MPI_SUCCESS);
      EXPECT_EQ(MPI_Waitall(3, kept.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(sum, 5 * round + 10);
      for (int rank = 0; rank < 5; ++rank) {
        for (int i = 0; i < 5; ++i)
          EXPECT_EQ(all[static_cast<std::size_t>(5 * (4 - rank) + i)], i < rank ? 100 * round + rank : -1);
      }
    }
    for (MPI_Request& each : kept) EXPECT_EQ(MPI_Request_free(&each), MPI_SUCCESS);
  });
}

TEST(mpi_collective_overlap, persistent_collectives_are_started_in_an_order_of_each_ranks_own) {
  for (const std::uint32_t size : {2U, 3U, 5U}) {
    run_ranks(size, [](numbers_of_rank mine) {
      constexpr int many = 60;
      MPI_Comm copy = MPI_COMM_NULL;
      ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &copy), MPI_SUCCESS);
      std::vector<int> sent(many), sums(many), from(many);
      std::vector<MPI_Request> kept;
      for (int i = 0; i < many; ++i) {
        const auto at = static_cast<std::size_t>(i);
        EXPECT_EQ(MPI_Allreduce_init(&sent[at], &sums[at], 1, MPI_INT, MPI_SUM, copy, MPI_INFO_NULL,
                                     &kept.emplace_back(MPI_REQUEST_NULL)),
                  MPI_SUCCESS);
        EXPECT_EQ(MPI_Bcast_init(&from[at], 1, MPI_INT, i % mine.size, copy, MPI_INFO_NULL,
                                 &kept.emplace_back(MPI_REQUEST_NULL)),
                  MPI_SUCCESS);
      }
      EXPECT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);  // it lives until they are freed
      std::mt19937 random{static_cast<unsigned>(mine.rank)};
      for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < many; ++i) {
          sent[static_cast<std::size_t>(i)] = round + i + mine.rank;
          from[static_cast<std::size_t>(i)] = i % mine.size == mine.rank ? 100 * round + i : -1;
        }
        std::vector<std::size_t> order(kept.size());
        std::iota(order.begin(), order.end(), 0U);
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t each : order) EXPECT_EQ(MPI_Start(&kept[each]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Waitall(2 * many, kept.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        for (int i = 0; i < many; ++i) {
          EXPECT_EQ(sums[static_cast<std::size_t>(i)], mine.size * (round + i) + mine.size * (mine.size - 1) / 2);
          EXPECT_EQ(from[static_cast<std::size_t>(i)], 100 * round + i);
        }
      }
      for (MPI_Request& each : kept) EXPECT_EQ(MPI_Request_free(&each), MPI_SUCCESS);
    });
  }
}

TEST(mpi_collective_overlap, a_rank_that_is_thousands_of_collectives_ahead_waits_for_no_other_one) {
  run_ranks(2, [](numbers_of_rank mine) {
    constexpr int many = 5000;  // tags repeat after 4096 of them
    // Rank 1 begins after it has a message that rank 0 sends behind all of its collectives.
    int message = 0;
    if (mine.rank == 1) {
      EXPECT_EQ(MPI_Recv(&message, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    std::vector<MPI_Request> requests(many);
    std::vector<int> given(many), sums(many);
    for (int i = 0; i < many; ++i) {
      const auto at = static_cast<std::size_t>(i);
      given[at] = i + mine.rank;
      EXPECT_EQ(MPI_Iallreduce(&given[at], &sums[at], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[at]), MPI_SUCCESS);
    }
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Send(&message, 1, MPI_INT, 1, 1, MPI_COMM_WORLD), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Waitall(many, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < many; ++i) EXPECT_EQ(sums[static_cast<std::size_t>(i)], 2 * i + 1);
    // Functions that wait take their turn behind nonblocking ones.
    for (int i = 0; i < many; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (mine.rank == 1) given[at] = -1;
      EXPECT_EQ(MPI_Ibcast(&given[at], 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[at]), MPI_SUCCESS);
    }
    int sum = 0;
    EXPECT_EQ(MPI_Allreduce(&mine.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(sum, 1);
    EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    std::array<MPI_Comm, 3> made{};
    EXPECT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &made[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &made[1]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made[2]), MPI_SUCCESS);
    for (MPI_Comm& each : made) {
      EXPECT_EQ(MPI_Barrier(each), MPI_SUCCESS);
      EXPECT_EQ(MPI_Comm_free(&each), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Waitall(many, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < many; ++i) EXPECT_EQ(given[static_cast<std::size_t>(i)], i);
  });
}

TEST(mpi_collective_overlap, thousands_of_copies_under_way_are_communicators_of_their_own) {
  run_ranks(2, [](numbers_of_rank mine) {
    constexpr int many = 4500;
    if (mine.rank == 1) {
      EXPECT_EQ(MPI_Recv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    std::vector<MPI_Comm> copies(many);
    std::vector<MPI_Request> requests(many);
    for (int i = 0; i < many; ++i) {
      const auto at = static_cast<std::size_t>(i);
      EXPECT_EQ(MPI_Comm_idup(MPI_COMM_WORLD, &copies[at], &requests[at]), MPI_SUCCESS);
    }
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Send(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD), MPI_SUCCESS);
    }
    EXPECT_EQ(MPI_Waitall(many, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < many; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const int sent = i;
      int received = -1;
      EXPECT_EQ(MPI_Sendrecv(&sent, 1, MPI_INT, 1 - mine.rank, 0, &received, 1, MPI_INT, 1 - mine.rank, 0, copies[at],
                             MPI_STATUS_IGNORE),
                MPI_SUCCESS);
      EXPECT_EQ(received, i);
      EXPECT_EQ(MPI_Comm_free(&copies[at]), MPI_SUCCESS);
    }
  });
}

TEST(mpi_collective_overlap, collectives_of_two_communicators_do_not_meet) {
  run_ranks(4, [](numbers_of_rank mine) {
    MPI_Comm turned = MPI_COMM_NULL;  // ranks in the reverse order
    ASSERT_EQ(MPI_Comm_split(MPI_COMM_WORLD, 0, -mine.rank, &turned), MPI_SUCCESS);
    for (int round = 0; round < 50; ++round) {
      std::array<MPI_Request, 4> begun{};
      std::array<int, 2> from{mine.rank == 0 ? round : -1, mine.rank == 3 ? -round : 1}, sums{};
      const std::array<MPI_Comm, 2> in{MPI_COMM_WORLD, turned};
      // Ranks begin the collectives of two communicators in different orders, and wait in different orders.
      for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t which = (i + static_cast<std::size_t>(mine.rank)) % 2;
        EXPECT_EQ(MPI_Ibcast(&from[which], 1, MPI_INT, 0, in[which], &begun[which]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Iscan(&mine.rank, &sums[which], 1, MPI_INT, MPI_SUM, in[which], &begun[2 + which]), MPI_SUCCESS);
      }
      for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(MPI_Wait(&begun[(i + static_cast<std::size_t>(mine.rank)) % 4], MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(from, (std::array<int, 2>{round, -round}));
      EXPECT_EQ(sums[0], mine.rank * (mine.rank + 1) / 2);
      EXPECT_EQ(sums[1], 6 - mine.rank * (mine.rank - 1) / 2);
    }
    EXPECT_EQ(MPI_Comm_free(&turned), MPI_SUCCESS);
  });
}

TEST(mpi_collective_overlap, threads_use_a_communicator_each) {
  constexpr int threads = 3;
  run_ranks(
      2,
      [](numbers_of_rank mine) {
        std::array<MPI_Comm, threads> own{};
        for (MPI_Comm& each : own) ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &each), MPI_SUCCESS);
        run_threads_of_rank(threads, [&](int number) {
          const MPI_Comm in = own[static_cast<std::size_t>(number)];
          for (int round = 0; round < 100; ++round) {
            const int sent = round + 10 * number + mine.rank;
            int sum = 0, total = 0;
            MPI_Request request = MPI_REQUEST_NULL;
            EXPECT_EQ(MPI_Iallreduce(&sent, &total, 1, MPI_INT, MPI_SUM, in, &request), MPI_SUCCESS);
            EXPECT_EQ(MPI_Allreduce(&sent, &sum, 1, MPI_INT, MPI_SUM, in), MPI_SUCCESS);
            EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(sum, 2 * (round + 10 * number) + 1);
            EXPECT_EQ(total, sum);
          }
        });
        for (MPI_Comm& each : own) EXPECT_EQ(MPI_Comm_free(&each), MPI_SUCCESS);
      },
      {.default_device = {.shared = true}}, MPI_THREAD_MULTIPLE);
}

}  // namespace
}  // namespace weft
