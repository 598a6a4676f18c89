// SPDX-License-Identifier: BSD-3-Clause
// MPIX_Request_is_complete, MPI_Request_free after it, and generalized requests that progress polls.
#include <array>
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "mpi/ranks.hpp"
#include "mpix.h"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

TEST(mpi_queries, a_null_request_and_one_that_is_not_started_are_complete) {
  run_ranks(1, [](numbers_of_rank) {
    int number = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPIX_Request_is_complete(request), 1);
    EXPECT_EQ(MPI_Recv_init(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Request_is_complete(request), 1);
    EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Request_is_complete(request), 0);
    EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Request_is_complete(request), 1);
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  });
}

TEST(mpi_queries, a_request_becomes_complete_by_progress_alone_and_its_data_are_there) {
  for (const int level : {MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE}) {
    run_ranks(
        2,
        [](numbers_of_rank mine) {
          constexpr int rounds = 20;
          const int peer = 1 - mine.rank;
          for (int round = 0; round < rounds; ++round) {
            const std::size_t length = round % 2 == 0 ? 1 : 50'000;  // short, and by rendezvous
            std::vector<int> sent(length, round + mine.rank), received(length, -1);
            std::array<MPI_Request, 2> requests{};
            const int count = static_cast<int>(length);
            EXPECT_EQ(MPI_Irecv(received.data(), count, MPI_INT, peer, 0, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Isend(sent.data(), count, MPI_INT, peer, 0, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
            for (MPI_Request& each : requests) {
              while (MPIX_Request_is_complete(each) == 0)
                EXPECT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
              EXPECT_EQ(MPI_Request_free(&each), MPI_SUCCESS);
              EXPECT_EQ(each, MPI_REQUEST_NULL);
            }
            EXPECT_EQ(received, std::vector<int>(length, round + peer));
          }
          EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
        },
        {}, level);
  }
}

TEST(mpi_queries, a_thread_asks_while_another_makes_progress) {
  const auto body = [](numbers_of_rank) {
    constexpr int rounds = 100;
    std::atomic<bool> is_over{false};
    test::run_threads_of_rank(2, [&](int thread) {
      if (thread == 1) {
        // [queries_test.see] acquire <- [queries_test.set]: the writes of the other thread.
        while (!is_over.load(std::memory_order_acquire)) MPIX_Stream_progress(MPIX_STREAM_NULL);
        return;
      }
      for (int round = 0; round < rounds; ++round) {
        int received = -1;
        MPI_Request request = MPI_REQUEST_NULL, sending = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Irecv(&received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
        EXPECT_EQ(MPI_Isend(&round, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &sending), MPI_SUCCESS);
        while (MPIX_Request_is_complete(request) == 0) std::this_thread::yield();
        EXPECT_EQ(received, round);
        EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&sending, MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
      // [queries_test.set] release -> [queries_test.see]: the writes of this thread.
      is_over.store(true, std::memory_order_release);
    });
  };
  run_ranks(1, body, {}, MPI_THREAD_MULTIPLE);
}

int calls_of_handler = 0;
void count_call_of_self(MPI_Comm* comm, int* code, ...) {
  EXPECT_EQ(*comm, MPI_COMM_SELF);
  EXPECT_EQ(*code, MPI_ERR_REQUEST);
  ++calls_of_handler;
}

TEST(mpi_queries, a_handle_of_no_request_is_an_error_of_self) {
  run_ranks(1, [](numbers_of_rank) {
    calls_of_handler = 0;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    EXPECT_EQ(MPI_Comm_create_errhandler(count_call_of_self, &handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Request_is_complete(reinterpret_cast<MPI_Request>(MPI_COMM_WORLD)), 1);
    EXPECT_EQ(calls_of_handler, 1);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
    EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
  });
}

TEST(mpi_queries, a_free_of_a_complete_idup_makes_the_communicator) {
  run_ranks(2, [](numbers_of_rank mine) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Comm_idup(MPI_COMM_WORLD, &made, &request), MPI_SUCCESS);
    while (MPIX_Request_is_complete(request) == 0) EXPECT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    int sum = 0;
    EXPECT_EQ(MPI_Allreduce(&mine.rank, &sum, 1, MPI_INT, MPI_SUM, made), MPI_SUCCESS);
    EXPECT_EQ(sum, 1);
    EXPECT_EQ(MPI_Comm_free(&made), MPI_SUCCESS);
  });
}

// A generalized request that its poll function completes.
struct polled_state {
  MPI_Request request = MPI_REQUEST_NULL;
  int polls_needed = 3;
  int polls = 0;
  int waits = 0;
  int frees = 0;
  int error_of_poll = MPI_SUCCESS;
  bool throws = false;
  bool wait_completes = false;

  static polled_state& at(void* state) { return *static_cast<polled_state*>(state); }
  static int query(void*, MPI_Status* status) {
    EXPECT_EQ(MPI_Status_set_elements(status, MPI_INT, 2), MPI_SUCCESS);
    return MPI_Status_set_cancelled(status, 0);
  }
  static int free(void* state) {
    ++at(state).frees;
    return MPI_SUCCESS;
  }
  static int cancel(void*, int) { return MPI_SUCCESS; }
  static int poll(void* state, MPI_Status*) {
    polled_state& mine = at(state);
    EXPECT_EQ(mine.frees, 0);
    if (mine.throws) throw std::runtime_error{"a poll function"};
    if (++mine.polls == mine.polls_needed) return MPI_Grequest_complete(mine.request);
    return mine.error_of_poll;
  }
  static int wait(int count, void** states, double, MPI_Status*) {
    EXPECT_EQ(count, 1);
    polled_state& mine = at(states[0]);
    ++mine.waits;
    return mine.wait_completes ? MPI_Grequest_complete(mine.request) : MPI_SUCCESS;
  }
  MPI_Request start() {
    EXPECT_EQ(MPIX_Grequest_start(query, free, cancel, poll, wait, this, &request), MPI_SUCCESS);
    return request;
  }
};

TEST(mpi_queries, progress_polls_a_generalized_request_until_it_is_complete) {
  run_ranks(1, [](numbers_of_rank) {
    polled_state state;
    MPI_Request request = state.start();
    EXPECT_EQ(MPIX_Request_is_complete(request), 0);
    EXPECT_EQ(state.polls, 0);
    MPI_Status status{};
    int count = 0;
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_EQ(MPI_Get_count(&status, MPI_INT, &count), MPI_SUCCESS);
    EXPECT_EQ(count, 2);
    for (int look = 0; look < 5; ++look) EXPECT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
    EXPECT_EQ(state.polls, 3);
    EXPECT_EQ(state.waits, 0);
    EXPECT_EQ(state.frees, 1);
  });
}

TEST(mpi_queries, waitall_calls_the_wait_function_of_each_open_generalized_request) {
  run_ranks(1, [](numbers_of_rank) {
    std::array<polled_state, 3> states{};
    states[0].wait_completes = states[2].wait_completes = true;
    std::array<MPI_Request, 3> requests{states[0].start(), states[1].start(), states[2].start()};
    for (polled_state& each : states) each.polls_needed = &each == &states[1] ? 4 : 1'000'000;
    EXPECT_EQ(MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (const polled_state& each : states) {
      EXPECT_EQ(each.waits, 1);
      EXPECT_EQ(each.frees, 1);
    }
  });
}

TEST(mpi_queries, a_poll_function_that_fails_ends_its_request_with_that_error) {
  run_ranks(1, [](numbers_of_rank) {
    polled_state returns{.error_of_poll = MPI_ERR_IO}, throws{.throws = true};
    MPI_Request request = returns.start();
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_IO);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_EQ(returns.frees, 1);
    request = throws.start();
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_INTERN);
    EXPECT_EQ(throws.frees, 1);
  });
}

TEST(mpi_queries, a_polled_request_that_the_program_has_freed_is_freed_by_its_poll_function) {
  run_ranks(1, [](numbers_of_rank) {
    polled_state state;
    MPI_Request request = state.start();
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    while (state.frees == 0) EXPECT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
    for (int look = 0; look < 5; ++look) EXPECT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
    EXPECT_EQ(state.polls, 3);
    EXPECT_EQ(state.frees, 1);
  });
}

TEST(mpi_queries, another_thread_completes_a_request_that_progress_polls) {
  const auto body = [](numbers_of_rank) {
    for (int round = 0; round < 100; ++round) {
      auto state = std::make_unique<polled_state>(polled_state{.polls_needed = 1'000'000'000});
      MPI_Request request = state->start();
      std::atomic<bool> is_over{false};
      test::run_threads_of_rank(2, [&](int thread) {
        if (thread == 1) {
          // [queries_test.see] acquire <- [queries_test.set]: the writes of the other thread.
          while (!is_over.load(std::memory_order_acquire)) MPIX_Stream_progress(MPIX_STREAM_NULL);
          return;
        }
        EXPECT_EQ(MPI_Grequest_complete(request), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        state.reset();  // no thread polls any more
        // [queries_test.set] release -> [queries_test.see]: the writes of this thread.
        is_over.store(true, std::memory_order_release);
      });
    }
  };
  run_ranks(1, body, {}, MPI_THREAD_MULTIPLE);
}

TEST(mpi_queries, a_null_function_is_refused) {
  run_ranks(1, [](numbers_of_rank) {
    polled_state state;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPIX_Grequest_start(polled_state::query, polled_state::free, polled_state::cancel, nullptr,
                                  polled_state::wait, &state, &request),
              MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Grequest_start(polled_state::query, polled_state::free, polled_state::cancel, polled_state::poll,
                                  nullptr, &state, &request),
              MPI_ERR_ARG);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
  });
}

}  // namespace
}  // namespace weft
