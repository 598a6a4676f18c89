// SPDX-License-Identifier: BSD-3-Clause
// Threads that are blocked in MPI_Recv, MPI_Waitall and MPI_Waitany of one communicator: a message wakes the thread
// that it is for, and the others sleep on. Wake-ups are counted, as the library makes them.
#include <array>
#include <cstdint>
#include <functional>
#include <iostream>

#include "mpi/ranks.hpp"
#include "net/ring/sleep_word.hpp"
#include "support/waiting.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;

constexpr int blocked_count = 16;
constexpr int exchanges = 400;
constexpr int go_tag = 2, first_tag = 100;

// How a blocked thread waits for the message of its tag.
void receive_blocked(int number, int peer) {
  std::array<int, 2> got{-1, -1};
  const int tag = first_tag + number;
  if (number % 3 == 0) {
    EXPECT_EQ(MPI_Recv(&got[0], 1, MPI_INT, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Recv(&got[1], 1, MPI_INT, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
  } else {
    std::array<MPI_Request, 2> both{};
    for (std::size_t each = 0; each < both.size(); ++each)
      EXPECT_EQ(MPI_Irecv(&got[each], 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &both[each]), MPI_SUCCESS);
    if (number % 3 == 1) {
      EXPECT_EQ(MPI_Waitall(2, both.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    } else {
      int first = -1, second = -1;
      EXPECT_EQ(MPI_Waitany(2, both.data(), &first, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_Waitany(2, both.data(), &second, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(first + second, 1);
    }
  }
  EXPECT_EQ(got[0], number);
  EXPECT_EQ(got[1], number + 1);
}
void send_to_blocked(int peer) {
  for (int more = 0; more < 2; ++more) {
    for (int number = 0; number < blocked_count; ++number) {
      const int value = number + more;
      EXPECT_EQ(MPI_Send(&value, 1, MPI_INT, peer, first_tag + number, MPI_COMM_WORLD), MPI_SUCCESS);
    }
  }
}

// Messages to and fro between one thread of each rank.
void exchange_values(numbers_of_rank mine, int peer, int count) {
  for (int round = 0; round < count; ++round) {
    int value = round;
    const auto send = [&] { EXPECT_EQ(MPI_Send(&value, 1, MPI_INT, peer, go_tag, MPI_COMM_WORLD), MPI_SUCCESS); };
    if (mine.rank == 0) send();
    EXPECT_EQ(MPI_Recv(&value, 1, MPI_INT, peer, go_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(value, round);
    if (mine.rank == 1) send();
  }
}

// Rank 0 counts how many threads are woken, in both ranks, while `talk` exchanges so many messages. `halves_max`: the
// most halves of a wake-up for each.
void expect_few_wake_ups(numbers_of_rank mine, int messages, int halves_max, const std::function<void()>& talk) {
  const std::uint64_t before = net::wake_up_count();
  talk();
  const std::uint64_t woken = net::wake_up_count() - before;
  if (mine.rank == 0) {
    std::cout << woken << " wake-ups for " << messages << " messages\n";
    const std::uint64_t most = test::messages_wake_sleepers()
                                   ? static_cast<std::uint64_t>(halves_max) * static_cast<std::uint64_t>(messages)
                                   : ~0ULL;
    EXPECT_LE(2 * woken, most);
  }
}

void run_two_multiple(const std::function<void(numbers_of_rank)>& body) {
  test::run_ranks(2, body, {}, MPI_THREAD_MULTIPLE);
}

TEST(mpi_blocked_threads, sleep_on_while_two_others_exchange_messages) {
  run_two_multiple([](numbers_of_rank mine) {
    const int peer = 1 - mine.rank;
    test::run_threads_of_rank(blocked_count + 1, [&](int number) {
      if (number < blocked_count) return receive_blocked(number, peer);
      exchange_values(mine, peer, exchanges);  // most of the others have fallen asleep then
      expect_few_wake_ups(mine, 2 * exchanges, 3, [&] { exchange_values(mine, peer, exchanges); });
      send_to_blocked(peer);
    });
  });
}

// A message takes two wake-ups where the looker sleeps and is another thread; the usual mean is near one.
TEST(mpi_blocked_threads, are_woken_by_their_own_messages) {
  run_two_multiple([](numbers_of_rank mine) {
    const int peer = 1 - mine.rank;
    MPI_Barrier(MPI_COMM_WORLD);
    expect_few_wake_ups(mine, 2 * blocked_count * exchanges / 4, 4, [&] {
      test::run_threads_of_rank(blocked_count, [&](int number) {
        for (int round = 0; round < exchanges / 4; ++round) {
          int value = number;
          const auto send = [&] {
            EXPECT_EQ(MPI_Send(&value, 1, MPI_INT, peer, first_tag + number, MPI_COMM_WORLD), MPI_SUCCESS);
          };
          if (mine.rank == 0) send();
          EXPECT_EQ(MPI_Recv(&value, 1, MPI_INT, peer, first_tag + number, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                    MPI_SUCCESS);
          if (mine.rank == 1) send();
        }
      });
      MPI_Barrier(MPI_COMM_WORLD);
    });
  });
}

}  // namespace
}  // namespace weft
