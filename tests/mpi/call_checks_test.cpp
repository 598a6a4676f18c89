// SPDX-License-Identifier: BSD-3-Clause
// subject: src/mpi/check src/mpi/objects src/mpi/api
// WEFT_CHECK=1 finds calls that the thread level forbids (11.6), and two calls under way that complete one request
// (11.6.2). The refused call returns an error and does nothing else.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <csetjmp>
#include <functional>
#include <string>
#include <vector>

#include "mpi/error/error.hpp"
#include "mpi/ranks.hpp"
#include "support/waiting.hpp"

namespace weft {
namespace {

using test::eventually;
using test::numbers_of_rank;
using test::run_ranks;
using test::run_threads_of_rank;

void run_checked(std::uint32_t ranks, int level, const std::function<void(numbers_of_rank)>& body) {
  run_ranks(ranks, body, {.check = true}, level);
}

constexpr int letter_tag = 3;

int receive_from_self(int tag_of_message = letter_tag) {
  int got = -1;
  return MPI_Recv(&got, 1, MPI_INT, 0, tag_of_message, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}
void send_to_self(int tag_of_message = letter_tag) {
  const int sent = 7;
  EXPECT_EQ(MPI_Send(&sent, 1, MPI_INT, 0, tag_of_message, MPI_COMM_SELF), MPI_SUCCESS);
}

// The answers to a second thread by all kinds of entry points: with a short path, without one, of no communication.
std::vector<int> answers_of_another_thread() {
  std::vector<int> answers;
  run_threads_of_rank(1, [&](int) {
    int number = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    answers = {MPI_Send(&number, 1, MPI_INT, 0, letter_tag, MPI_COMM_SELF),
               MPI_Isend(&number, 1, MPI_INT, 0, letter_tag, MPI_COMM_SELF, &request),
               receive_from_self(),
               MPI_Barrier(MPI_COMM_WORLD),
               MPI_Comm_rank(MPI_COMM_WORLD, &number),
               MPI_Wait(&request, MPI_STATUS_IGNORE),
               MPI_Finalize()};
    EXPECT_EQ(request, MPI_REQUEST_NULL);
  });
  return answers;
}

TEST(mpi_call_checks, a_second_thread_is_refused_where_one_thread_alone_may_call) {
  for (const int level : {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED}) {
    run_checked(1, level, [](numbers_of_rank) {
      EXPECT_THAT(answers_of_another_thread(), testing::Each(MPI_ERR_OTHER));
      // These are any thread's at each level.
      run_threads_of_rank(1, [](int) {
        int flag = -1, found = -1;
        EXPECT_EQ(MPI_Is_thread_main(&flag), MPI_SUCCESS);
        EXPECT_EQ(flag, 0);
        EXPECT_EQ(MPI_Query_thread(&found), MPI_SUCCESS);
        EXPECT_EQ(MPI_Initialized(&flag), MPI_SUCCESS);
        EXPECT_GE(MPI_Wtime(), 0.0);
      });
      // The main thread may call as before, and nothing of the other's calls is under way.
      send_to_self();
      EXPECT_EQ(receive_from_self(), MPI_SUCCESS);
    });
  }
}

TEST(mpi_call_checks, threads_may_call_one_after_the_other_where_calls_are_serialized) {
  run_checked(2, MPI_THREAD_SERIALIZED, [](numbers_of_rank mine) {
    for (int round = 0; round < 5; ++round) {
      run_threads_of_rank(1, [&](int) {
        int got = -1;
        MPI_Request request = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Isend(&round, 1, MPI_INT, 1 - mine.rank, letter_tag, MPI_COMM_WORLD, &request), MPI_SUCCESS);
        EXPECT_EQ(MPI_Recv(&got, 1, MPI_INT, 1 - mine.rank, letter_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
        EXPECT_EQ(got, round);
        EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      });
      EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    }
  });
}

TEST(mpi_call_checks, two_threads_at_a_time_are_found_where_calls_are_serialized) {
  std::atomic<int> refused{0}, ended{0};
  run_checked(2, MPI_THREAD_SERIALIZED, [&](numbers_of_rank mine) {
    if (mine.rank == 1) {
      EXPECT_TRUE(eventually([&] { return refused == 1; }));
      const int sent = 1;
      EXPECT_EQ(MPI_Send(&sent, 1, MPI_INT, 0, letter_tag, MPI_COMM_WORLD), MPI_SUCCESS);
      return;
    }
    // One of the two is blocked until the other is refused.
    run_threads_of_rank(2, [&](int) {
      int got = -1;
      const int answer = MPI_Recv(&got, 1, MPI_INT, 1, letter_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      ++(answer == MPI_SUCCESS ? ended : refused);
      if (answer != MPI_SUCCESS) {
        EXPECT_EQ(answer, MPI_ERR_OTHER);
      }
    });
  });
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(ended, 1);
}

std::jmp_buf after_call;

void leave(MPI_Comm* /*comm*/, int* /*code*/, ...) { std::longjmp(after_call, 1); }

TEST(mpi_call_checks, a_call_that_an_error_handler_leaves_is_over) {
  run_checked(1, MPI_THREAD_SERIALIZED, [](numbers_of_rank) {
    MPI_Errhandler leaving = MPI_ERRHANDLER_NULL;
    EXPECT_EQ(MPI_Comm_create_errhandler(&leave, &leaving), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, leaving), MPI_SUCCESS);
    int number = 0;
    if (setjmp(after_call) == 0) {
      static_cast<void>(MPI_Send(&number, 1, MPI_INT, 99, letter_tag, MPI_COMM_WORLD));
      ADD_FAILURE() << "the handler has not left the call";
    }
    run_threads_of_rank(1, [](int) { send_to_self(); });
    EXPECT_EQ(receive_from_self(), MPI_SUCCESS);
    EXPECT_EQ(MPI_Errhandler_free(&leaving), MPI_SUCCESS);
  });
}

// Functions that complete a request; they return an error class.
struct completing_function {
  const char* name;
  int (*call)(MPI_Request& request);
};
const std::array waits{
    completing_function{"MPI_Wait", [](MPI_Request& request) { return MPI_Wait(&request, MPI_STATUS_IGNORE); }},
    completing_function{"MPI_Waitall",
                        [](MPI_Request& request) { return MPI_Waitall(1, &request, MPI_STATUSES_IGNORE); }},
    completing_function{"MPI_Waitany",
                        [](MPI_Request& request) {
                          int index = -1;
                          return MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
                        }},
    completing_function{"MPI_Waitsome", [](MPI_Request& request) {
                          int count = -1, index = -1;
                          return MPI_Waitsome(1, &request, &count, &index, MPI_STATUSES_IGNORE);
                        }}};
const std::array tests{completing_function{"MPI_Test",
                                           [](MPI_Request& request) {
                                             int flag = -1;
                                             return MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
                                           }},
                       completing_function{"MPI_Testall",
                                           [](MPI_Request& request) {
                                             int flag = -1;
                                             return MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
                                           }},
                       completing_function{"MPI_Testany",
                                           [](MPI_Request& request) {
                                             int index = -1, flag = -1;
                                             return MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
                                           }},
                       completing_function{"MPI_Testsome", [](MPI_Request& request) {
                                             int count = -1, index = -1;
                                             return MPI_Testsome(1, &request, &count, &index, MPI_STATUSES_IGNORE);
                                           }}};

TEST(mpi_call_checks, of_two_threads_that_wait_for_one_request_one_is_refused) {
  run_checked(1, MPI_THREAD_MULTIPLE, [](numbers_of_rank) {
    for (const completing_function& one : waits) {
      for (const completing_function& other : waits) {
        int got = -1;
        MPI_Request request = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Irecv(&got, 1, MPI_INT, 0, letter_tag, MPI_COMM_SELF, &request), MPI_SUCCESS);
        std::atomic<int> refused{0};
        run_threads_of_rank(2, [&](int number) {
          MPI_Request mine = request;
          const int answer = (number == 0 ? one : other).call(mine);
          if (answer == MPI_SUCCESS) {
            EXPECT_EQ(mine, MPI_REQUEST_NULL);
            return;
          }
          EXPECT_EQ(answer, MPI_ERR_REQUEST) << one.name << " and " << other.name;
          EXPECT_EQ(mine, request);
          ++refused;
          send_to_self();  // ends the wait of the other
        });
        EXPECT_EQ(refused, 1) << one.name << " and " << other.name;
        EXPECT_EQ(got, 7);
      }
    }
  });
}

TEST(mpi_call_checks, a_test_of_a_request_is_refused_while_another_thread_waits_for_it) {
  run_checked(1, MPI_THREAD_MULTIPLE, [](numbers_of_rank) {
    for (const completing_function& wait : waits) {
      for (const completing_function& test : tests) {
        std::array<int, 2> got{-1, -1};
        MPI_Request request = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Irecv(&got, 1, MPI_INT, 0, letter_tag, MPI_COMM_SELF, &request), MPI_SUCCESS);
        run_threads_of_rank(2, [&](int number) {
          MPI_Request mine = request;
          if (number == 0) {
            // It may come while the other thread tests, and then is the one to be refused.
            EXPECT_TRUE(eventually([&] { return wait.call(mine) == MPI_SUCCESS; }));
            return;
          }
          EXPECT_TRUE(eventually([&] { return test.call(mine) == MPI_ERR_REQUEST; })) << wait.name << ", " << test.name;
          send_to_self();
        });
        EXPECT_EQ(got[0], 7);
      }
    }
  });
}

TEST(mpi_call_checks, the_reason_names_the_other_call) {
  run_checked(1, MPI_THREAD_MULTIPLE, [](numbers_of_rank) {
    static std::string reason;
    MPI_Request request = MPI_REQUEST_NULL;
    int got = -1;
    EXPECT_EQ(MPI_Irecv(&got, 1, MPI_INT, 0, letter_tag, MPI_COMM_SELF, &request), MPI_SUCCESS);
    mpi::call_checks checks{MPI_THREAD_MULTIPLE};
    std::uint64_t first = 0, second = 0;
    const auto* const both = reinterpret_cast<const mpi::request*>(request);
    EXPECT_EQ(checks.begin_completing("MPI_Waitall", {both}, first), MPI_SUCCESS);
    EXPECT_EQ(checks.begin_completing("MPI_Test", {both}, second), MPI_ERR_REQUEST);
    EXPECT_STREQ(mpi::take_failure().text.data(),
                 "another call, of MPI_Waitall, has the same request and has not returned");
    EXPECT_EQ(second, 0U);
    checks.note_started(both);  // another request has this memory now
    EXPECT_EQ(checks.begin_completing("MPI_Test", {both}, second), MPI_SUCCESS);
    checks.end_completing(first);
    checks.end_completing(second);
    send_to_self();
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  });
}

// Threads start requests in turn, short sends that share a request among them, and complete those of another one.
TEST(mpi_call_checks, right_programs_of_many_threads_are_refused_nothing) {
  run_checked(2, MPI_THREAD_MULTIPLE, [](numbers_of_rank mine) {
    constexpr int threads = 8, rounds = 10 * WEFT_TEST_MIXTURES;
    const int peer = 1 - mine.rank;
    run_threads_of_rank(threads, [&](int thread) {
      for (int round = 0; round < rounds; ++round) {
        std::array<int, 4> sent{round, thread, round, thread}, got{};
        std::array<MPI_Request, 8> all{};
        for (std::size_t each = 0; each < 4; ++each) {
          EXPECT_EQ(MPI_Irecv(&got[each], 1, MPI_INT, peer, thread, MPI_COMM_WORLD, &all[each]), MPI_SUCCESS);
          EXPECT_EQ(MPI_Isend(&sent[each], 1, MPI_INT, peer, thread, MPI_COMM_WORLD, &all[4 + each]), MPI_SUCCESS);
        }
        if (round % 3 == 0) {
          EXPECT_EQ(MPI_Waitall(8, all.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        } else {
          for (int left = 8; left > 0; --left) {
            int index = -1, flag = 0;
            if (round % 3 == 1) {
              EXPECT_EQ(MPI_Waitany(8, all.data(), &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
            }
            while (round % 3 == 2 && flag == 0)
              EXPECT_EQ(MPI_Testany(8, all.data(), &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
          }
        }
        EXPECT_EQ(got, sent);
      }
    });
  });
}

}  // namespace
}  // namespace weft
