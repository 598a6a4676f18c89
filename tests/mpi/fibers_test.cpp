// SPDX-License-Identifier: BSD-3-Clause
// Calls of MPI that wait, in fibers whose scheduler serves the device: each fiber is suspended until its own request
// has ended.
#include "weft/fiber.hpp"

#include <array>
#include <functional>
#include <vector>

#include "core/runtime/runtime_state.hpp"
#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

// The fibers of one rank, in one worker.
class fibers_of_rank {
 public:
  explicit fibers_of_rank(bool serves_device = true)
      : slot_{mpi::current_slot()},
        served_{&slot_.state->device},
        scheduler_{{.workers = 1, .devices = std::span{served_}.first(serves_device ? 1 : 0)}} {}

  void spawn(std::function<void()> body) {
    all_.push_back(scheduler_.spawn([this, body = std::move(body)] {
      mpi::be_thread_of(&slot_);  // of the worker, which runs fibers of this rank alone
      body();
    }));
  }
  void join() {
    for (fiber& each : all_) each.join();
    all_.clear();
  }

 private:
  mpi::rank_slot& slot_;
  std::array<device*, 1> served_;
  fiber_scheduler scheduler_;
  std::vector<fiber> all_;
};

void run_multiple(std::uint32_t ranks, const std::function<void(numbers_of_rank)>& body) {
  run_ranks(ranks, body, {}, MPI_THREAD_MULTIPLE);
}

void send_word(long word, int to, int tag) {
  EXPECT_EQ(MPI_Send(&word, 1, MPI_LONG, to, tag, MPI_COMM_WORLD), MPI_SUCCESS);
}
long receive_word(int from, int tag) {
  long word = -1;
  EXPECT_EQ(MPI_Recv(&word, 1, MPI_LONG, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
  return word;
}

void exchange_words(numbers_of_rank mine, int tag, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const long word = 1000L * tag + round;
    if (mine.rank == 0) send_word(word, 1, tag);
    EXPECT_EQ(receive_word(1 - mine.rank, tag), word);
    if (mine.rank == 1) send_word(word, 0, tag);
  }
}

TEST(mpi_fibers, exchange_messages_each_with_its_own) {
  for (const bool serves_device : {true, false}) {
    run_multiple(2, [&](numbers_of_rank mine) {
      fibers_of_rank fibers{serves_device};
      for (int tag = 0; tag < 50; ++tag) fibers.spawn([=] { exchange_words(mine, tag, 10); });
      fibers.join();
    });
  }
}

TEST(mpi_fibers, send_long_and_synchronous_messages) {
  run_multiple(2, [](numbers_of_rank mine) {
    fibers_of_rank fibers;
    for (int tag = 0; tag < 6; ++tag) {
      fibers.spawn([=] {
        std::vector<int> words(tag % 2 == 0 ? 100'000 : 3, tag);
        std::vector<int> into(words.size(), -1);
        const int count = static_cast<int>(words.size());
        for (int round = 0; round < 3; ++round) {
          if (mine.rank == 0) {
            EXPECT_EQ(MPI_Ssend(words.data(), count, MPI_INT, 1, tag, MPI_COMM_WORLD), MPI_SUCCESS);
          } else {
            EXPECT_EQ(MPI_Recv(into.data(), count, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(into, words);
          }
          EXPECT_EQ(MPI_Sendrecv(words.data(), count, MPI_INT, 1 - mine.rank, 100 + tag, into.data(), count, MPI_INT,
                                 1 - mine.rank, 100 + tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                    MPI_SUCCESS);
          EXPECT_EQ(into, words);
        }
      });
    }
    fibers.join();
  });
}

// Receives with the tags from `first` on.
std::vector<MPI_Request> begin_receives(std::vector<long>& into, int from, int first) {
  std::vector<MPI_Request> out(into.size(), MPI_REQUEST_NULL);
  for (std::size_t each = 0; each < into.size(); ++each) {
    EXPECT_EQ(MPI_Irecv(&into[each], 1, MPI_LONG, from, first + static_cast<int>(each), MPI_COMM_WORLD, &out[each]),
              MPI_SUCCESS);
  }
  return out;
}

void complete_all(std::vector<MPI_Request>& requests) {
  EXPECT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
}
void complete_one_by_one(std::vector<MPI_Request>& requests) {
  for (std::size_t each = 0; each < requests.size(); ++each) {
    int index = -1;
    EXPECT_EQ(MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_NE(index, MPI_UNDEFINED);
  }
}
void complete_some_by_some(std::vector<MPI_Request>& requests) {
  std::vector<int> indices(requests.size());
  for (std::size_t done = 0; done < requests.size();) {
    int count = -1;
    EXPECT_EQ(
        MPI_Waitsome(static_cast<int>(requests.size()), requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE),
        MPI_SUCCESS);
    ASSERT_GT(count, 0);
    done += static_cast<std::size_t>(count);
  }
}
void complete_each(std::vector<MPI_Request>& requests) {
  for (MPI_Request& each : requests) EXPECT_EQ(MPI_Wait(&each, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST(mpi_fibers, complete_several_requests_in_each_way) {
  run_multiple(2, [](numbers_of_rank mine) {
    constexpr std::array completions{&complete_all, &complete_one_by_one, &complete_some_by_some, &complete_each};
    fibers_of_rank fibers;
    for (int number = 0; number < 12; ++number) {
      fibers.spawn([=] {
        const int first = 10 * number;
        for (int round = 0; round < 5; ++round) {
          std::vector<long> into(7, -1);
          std::vector<MPI_Request> requests = begin_receives(into, 1 - mine.rank, first);
          for (int each = 0; each < 7; ++each) send_word(round + each, 1 - mine.rank, first + (each * 3) % 7);
          completions[static_cast<std::size_t>(number) % completions.size()](requests);
          for (int each = 0; each < 7; ++each) EXPECT_EQ(into[static_cast<std::size_t>(each * 3 % 7)], round + each);
        }
      });
    }
    fibers.join();
  });
}

// A wait for all ends early when one fails, though the others have not ended.
TEST(mpi_fibers, a_wait_for_all_ends_when_one_of_them_fails) {
  run_multiple(2, [](numbers_of_rank mine) {
    fibers_of_rank fibers;
    if (mine.rank == 1) {
      fibers.spawn([] {
        receive_word(0, 9);
        const std::array<long, 2> words{};
        EXPECT_EQ(MPI_Send(words.data(), 2, MPI_LONG, 0, 1, MPI_COMM_WORLD), MPI_SUCCESS);
        receive_word(0, 9);
        for (const int tag : {0, 2}) send_word(tag, 0, tag);
      });
    } else {
      fibers.spawn([] {
        std::vector<long> into(3, -1);
        std::vector<MPI_Request> requests = begin_receives(into, 1, 0);
        std::array<MPI_Status, 3> statuses{};
        send_word(0, 1, 9);
        EXPECT_EQ(MPI_Waitall(3, requests.data(), statuses.data()), MPI_ERR_IN_STATUS);
        EXPECT_EQ(statuses[0].MPI_ERROR, MPI_ERR_PENDING);
        EXPECT_EQ(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
        EXPECT_EQ(statuses[2].MPI_ERROR, MPI_ERR_PENDING);
        send_word(0, 1, 9);
        complete_all(requests);
        EXPECT_EQ(into[2], 2);
      });
    }
    fibers.join();
  });
}

TEST(mpi_fibers, wait_for_requests_that_begin_before_there_are_fibers) {
  run_multiple(2, [](numbers_of_rank mine) {
    long word = -1;
    MPI_Request early = MPI_REQUEST_NULL;
    mpi::current_slot().state->requests.release_done();
    EXPECT_EQ(MPI_Irecv(&word, 1, MPI_LONG, 1 - mine.rank, 5, MPI_COMM_WORLD, &early), MPI_SUCCESS);
    // As if no thread had used a suspender yet.
    mpi::find_request(early)->waiter.reset(weft::detail::never_awaited);
    fibers_of_rank fibers;
    std::vector<long> into(2, -1);
    fibers.spawn([&] {
      std::vector<MPI_Request> requests = begin_receives(into, 1 - mine.rank, 6);
      requests.push_back(early);
      complete_all(requests);
    });
    fibers.spawn([&] {
      for (const int tag : {7, 6, 5}) send_word(tag, 1 - mine.rank, tag);
    });
    fibers.join();
    EXPECT_EQ(word, 5);
    EXPECT_EQ(into, (std::vector<long>{6, 7}));
  });
}

TEST(mpi_fibers, wait_for_what_another_fiber_ends) {
  run_multiple(1, [](numbers_of_rank) {
    fibers_of_rank fibers;
    MPI_Request generalized = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Grequest_start([](void*, MPI_Status*) { return MPI_SUCCESS; }, [](void*) { return MPI_SUCCESS; },
                                 [](void*, int) { return MPI_SUCCESS; }, nullptr, &generalized),
              MPI_SUCCESS);
    const MPI_Request handle = generalized;
    long into = -1;
    MPI_Request persistent = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Recv_init(&into, 1, MPI_LONG, 0, 3, MPI_COMM_WORLD, &persistent), MPI_SUCCESS);
    fibers.spawn([&] { EXPECT_EQ(MPI_Wait(&generalized, MPI_STATUS_IGNORE), MPI_SUCCESS); });
    fibers.spawn([&] {
      for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(MPI_Start(&persistent), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&persistent, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(into, round);
      }
    });
    fibers.spawn([&] {
      EXPECT_EQ(MPI_Grequest_complete(handle), MPI_SUCCESS);
      for (int round = 0; round < 3; ++round) send_word(round, 0, 3);
    });
    fibers.join();
    EXPECT_EQ(MPI_Request_free(&persistent), MPI_SUCCESS);
  });
}

// Of many fibers two exchange messages: no list is searched for them, and no other fiber is woken.
TEST(mpi_fibers, are_not_woken_by_the_messages_of_others) {
  run_multiple(2, [](numbers_of_rank mine) {
    constexpr int waiting = 200;
    fibers_of_rank fibers;
    for (int tag = 0; tag < waiting; ++tag) {
      fibers.spawn([=] { EXPECT_EQ(receive_word(1 - mine.rank, 1000 + tag), tag); });
    }
    fibers.spawn([=] {
      exchange_words(mine, 1, 100);
      runtime& rt = mpi::current_slot().state->device.runtime();
      EXPECT_TRUE(test::local_job::state_of(rt).parking().is_empty());
      for (int tag = 0; tag < waiting; ++tag) send_word(tag, 1 - mine.rank, 1000 + tag);
    });
    fibers.join();
  });
}

}  // namespace
}  // namespace weft
