// SPDX-License-Identifier: BSD-3-Clause
// MPIX_Async_start and its relatives: which calls run hooks, calls inside of a hook, and the end.
#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "mpi/ranks.hpp"
#include "mpix.h"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

void make_progress(int calls = 1) {
  for (int call = 0; call < calls; ++call) EXPECT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
}

// Starts a hook that calls `body` until it answers true. It has to live until then.
void start_hook(std::function<bool(MPIX_Async_thing)>& body) {
  EXPECT_EQ(MPIX_Async_start(
                [](MPIX_Async_thing thing) {
                  auto& called = *static_cast<std::function<bool(MPIX_Async_thing)>*>(MPIX_Async_get_state(thing));
                  return called(thing) ? MPIX_ASYNC_DONE : MPIX_ASYNC_NOPROGRESS;
                },
                &body, MPIX_STREAM_NULL),
            MPI_SUCCESS);
}

TEST(mpi_hooks, each_call_of_progress_calls_a_hook_until_it_is_done) {
  run_ranks(1, [](numbers_of_rank) {
    int calls = 0;
    std::function<bool(MPIX_Async_thing)> body = [&](MPIX_Async_thing) { return ++calls == 4; };
    start_hook(body);
    EXPECT_EQ(calls, 0);
    make_progress();
    EXPECT_EQ(calls, 1);
    int flag = 1, number = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(calls, 1);  // it is complete, so the test makes no progress
    EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(calls, 3);
    make_progress(3);
    EXPECT_EQ(calls, 4);
    EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  });
}

TEST(mpi_hooks, what_a_hook_spawns_begins_after_it_has_returned) {
  run_ranks(1, [](numbers_of_rank) {
    std::vector<int> order;
    std::function<bool(MPIX_Async_thing)> second = [&](MPIX_Async_thing) {
      order.push_back(2);
      return true;
    };
    std::function<bool(MPIX_Async_thing)> first = [&](MPIX_Async_thing thing) {
      EXPECT_EQ(MPIX_Async_spawn(
                    thing,
                    [](MPIX_Async_thing spawned) {
                      (*static_cast<std::function<bool(MPIX_Async_thing)>*>(MPIX_Async_get_state(spawned)))(spawned);
                      return MPIX_ASYNC_DONE;
                    },
                    &second, MPIX_STREAM_NULL),
                MPI_SUCCESS);
      make_progress();  // nothing happens
      order.push_back(1);
      return true;
    };
    start_hook(first);
    make_progress(3);
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
  });
}

TEST(mpi_hooks, hooks_that_end_leave_the_others_in_their_order) {
  run_ranks(1, [](numbers_of_rank) {
    constexpr std::size_t hooks = 7;
    std::vector<std::size_t> order;
    int round = 0;
    std::array<std::function<bool(MPIX_Async_thing)>, hooks> bodies;
    for (std::size_t each = 0; each < hooks; ++each) {
      bodies[each] = [&, each](MPIX_Async_thing) {
        order.push_back(each);
        // Each second one ends first, each third one next, then all; the last one starts another one.
        const bool is_last = round == 2 || (round == 0 && each % 2 == 0) || (round == 1 && each % 3 == 0);
        if (is_last && each == 5) start_hook(bodies[0]);
        return is_last;
      };
    }
    for (auto& each : bodies) start_hook(each);
    const std::vector<std::vector<std::size_t>> expected{{0, 1, 2, 3, 4, 5, 6}, {1, 3, 5}, {1, 5}, {0}, {}};
    for (round = 0; round < 3; ++round) {
      make_progress();
      EXPECT_EQ(order, expected[static_cast<std::size_t>(round)]);
      order.clear();
    }
    round = 2;
    make_progress();
    EXPECT_EQ(order, expected[3]);
    order.clear();
    make_progress(2);
    EXPECT_EQ(order, expected[4]);
    start_hook(bodies[1]);
    make_progress();
    EXPECT_EQ(order, std::vector<std::size_t>{1});
  });
}

TEST(mpi_hooks, a_hook_starts_operations_and_tests_them_but_may_not_wait) {
  for (const int level : {MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE}) {
    run_ranks(
        2,
        [](numbers_of_rank mine) {
          const int peer = 1 - mine.rank;
          std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
          MPI_Request open = MPI_REQUEST_NULL;
          int received = -1, never = -1, looks = 0;
          std::atomic<bool> is_done{false};
          std::function<bool(MPIX_Async_thing)> body = [&](MPIX_Async_thing) {
            if (looks++ == 0) {
              EXPECT_EQ(MPI_Irecv(&received, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
              EXPECT_EQ(MPI_Irecv(&never, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &open), MPI_SUCCESS);
              EXPECT_EQ(MPI_Wait(&open, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
              EXPECT_EQ(MPI_Cancel(&open), MPI_SUCCESS);
              EXPECT_EQ(MPI_Wait(&open, MPI_STATUS_IGNORE), MPI_SUCCESS);
              EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_OTHER);
              EXPECT_EQ(MPI_Finalize(), MPI_ERR_OTHER);
              EXPECT_EQ(MPI_Isend(&mine.rank, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
            }
            int flag = 0;
            EXPECT_EQ(MPI_Testall(2, requests.data(), &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
            // [hooks_test.set] release -> [hooks_test.see]: the writes of the hook.
            is_done.store(flag != 0, std::memory_order_release);
            return flag != 0;
          };
          start_hook(body);
          // [hooks_test.see] acquire <- [hooks_test.set]: the writes of the hook.
          while (!is_done.load(std::memory_order_acquire)) make_progress();
          EXPECT_EQ(received, peer);
          EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
        },
        {}, level);
  }
}

TEST(mpi_hooks, one_thread_at_a_time_runs_a_hook) {
  const auto body = [](numbers_of_rank) {
    constexpr int hooks = 20, calls_each = 50;
    std::atomic<int> inside{0}, ended{0};
    std::array<std::function<bool(MPIX_Async_thing)>, hooks> bodies;
    std::array<int, hooks> calls{};
    for (std::size_t each = 0; each < hooks; ++each) {
      bodies[each] = [&, each](MPIX_Async_thing) {
        // relaxed: the device orders its hooks.
        EXPECT_EQ(inside.fetch_add(1, std::memory_order_relaxed), 0);
        const bool is_last = ++calls[each] == calls_each;
        // relaxed: the device orders its hooks.
        inside.fetch_sub(1, std::memory_order_relaxed);
        // [hooks_test.set] release -> [hooks_test.see]: the writes of the hook.
        if (is_last) ended.fetch_add(1, std::memory_order_release);
        return is_last;
      };
    }
    test::run_threads_of_rank(3, [&](int thread) {
      for (std::size_t each = 0; each < hooks; ++each)
        if (each % 3 == static_cast<std::size_t>(thread)) start_hook(bodies[each]);
      // [hooks_test.see] acquire <- [hooks_test.set]: the writes of the hook.
      while (ended.load(std::memory_order_acquire) != hooks) make_progress();
    });
  };
  run_ranks(1, body, {}, MPI_THREAD_MULTIPLE);
}

TEST(mpi_hooks, a_progress_thread_runs_hooks_from_its_start_to_its_stop) {
  const auto body = [](numbers_of_rank) {
    EXPECT_EQ(MPIX_Stop_progress_thread(MPIX_STREAM_NULL), MPI_ERR_OTHER);
    for (int round = 0; round < 3; ++round) {
      std::atomic<int> calls{0};
      std::atomic<bool> has_ended{false};
      std::function<bool(MPIX_Async_thing)> counted = [&](MPIX_Async_thing) {
        // [hooks_test.set] release -> [hooks_test.see]: the writes of the hook.
        if (calls.fetch_add(1, std::memory_order_release) < 100) return false;
        // [hooks_test.set] release -> [hooks_test.see]: the writes of the hook.
        has_ended.store(true, std::memory_order_release);
        return true;
      };
      EXPECT_EQ(MPIX_Start_progress_thread(MPIX_STREAM_NULL), MPI_SUCCESS);
      EXPECT_EQ(MPIX_Start_progress_thread(MPIX_STREAM_NULL), MPI_ERR_OTHER);
      start_hook(counted);
      // [hooks_test.see] acquire <- [hooks_test.set]: the writes of the hook.
      while (!has_ended.load(std::memory_order_acquire)) std::this_thread::yield();
      EXPECT_EQ(MPIX_Stop_progress_thread(MPIX_STREAM_NULL), MPI_SUCCESS);
      EXPECT_EQ(MPIX_Stop_progress_thread(MPIX_STREAM_NULL), MPI_ERR_OTHER);
    }
    EXPECT_EQ(MPIX_Start_progress_thread(MPIX_STREAM_NULL), MPI_SUCCESS);  // MPI_Finalize stops it
  };
  run_ranks(2, body, {}, MPI_THREAD_MULTIPLE);
  run_ranks(1, [](numbers_of_rank) {
    EXPECT_EQ(MPIX_Start_progress_thread(MPIX_STREAM_NULL), MPI_ERR_OTHER);
    EXPECT_EQ(MPIX_Stop_progress_thread(MPIX_STREAM_NULL), MPI_ERR_OTHER);
  });
}

TEST(mpi_hooks, finalize_ends_hooks_before_it_ends_requests) {
  std::array<int, 2> received{-1, -1};
  std::array<MPI_Request, 2> requests{};
  struct task {
    MPI_Request* request;
    int rounds;
  };
  std::array<task, 2> tasks{};
  run_ranks(2, [&](numbers_of_rank mine) {
    const auto own = static_cast<std::size_t>(mine.rank);
    tasks[own] = {&requests[own], 100};
    EXPECT_EQ(MPI_Irecv(&received[own], 1, MPI_INT, 1 - mine.rank, 0, MPI_COMM_WORLD, &requests[own]), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Async_start(
                  [](MPIX_Async_thing thing) {
                    task& state = *static_cast<task*>(MPIX_Async_get_state(thing));
                    static const int sent = 9;
                    if (state.rounds > 0 && --state.rounds == 0) {
                      int rank = 0;
                      EXPECT_EQ(MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_SUCCESS);
                      MPI_Request sending = MPI_REQUEST_NULL;
                      EXPECT_EQ(MPI_Isend(&sent, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &sending), MPI_SUCCESS);
                      EXPECT_EQ(MPI_Request_free(&sending), MPI_SUCCESS);
                    }
                    if (state.rounds > 0 || MPIX_Request_is_complete(*state.request) == 0) return MPIX_ASYNC_PENDING;
                    EXPECT_EQ(MPI_Request_free(state.request), MPI_SUCCESS);
                    return MPIX_ASYNC_DONE;
                  },
                  &tasks[own], MPIX_STREAM_NULL),
              MPI_SUCCESS);
  });
  EXPECT_EQ(received, (std::array<int, 2>{9, 9}));
  EXPECT_EQ(requests, (std::array<MPI_Request, 2>{MPI_REQUEST_NULL, MPI_REQUEST_NULL}));
}

TEST(mpi_hooks, wrong_arguments_are_refused) {
  run_ranks(1, [](numbers_of_rank) {
    const auto poll = [](MPIX_Async_thing) { return MPIX_ASYNC_DONE; };
    int number = 0;
    auto* const no_stream = reinterpret_cast<MPIX_Stream>(&number);
    auto* const some_thing = reinterpret_cast<MPIX_Async_thing>(&number);
    EXPECT_EQ(MPIX_Async_start(nullptr, nullptr, MPIX_STREAM_NULL), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Async_start(poll, nullptr, no_stream), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Async_spawn(nullptr, poll, nullptr, MPIX_STREAM_NULL), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Async_spawn(some_thing, poll, nullptr, MPIX_STREAM_NULL), MPI_ERR_OTHER);
    EXPECT_EQ(MPIX_Stream_progress(no_stream), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Async_get_state(nullptr), nullptr);
  });
}

}  // namespace
}  // namespace weft
