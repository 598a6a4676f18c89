// SPDX-License-Identifier: BSD-3-Clause
// MPIX_Continue and MPIX_Continueall: when callbacks run, and the state that they find.
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "mpi/continued_calls.hpp"

namespace weft::continued {
namespace {

TEST(mpi_continuations, a_callback_runs_once_after_the_request_with_status_written_and_null_handle) {
  run_ranks(1, [](numbers_of_rank) {
    int into = -1;
    MPI_Request request = begin_receive(into, 4);
    MPI_Status status{};
    called calls;
    calls.body = [&] {
      EXPECT_EQ(into, 9);
      EXPECT_EQ(request, MPI_REQUEST_NULL);
      EXPECT_EQ(status.MPI_SOURCE, 0);
      EXPECT_EQ(status.MPI_TAG, 4);
      int count = 0;
      EXPECT_EQ(MPI_Get_count(&status, MPI_INT, &count), MPI_SUCCESS);
      EXPECT_EQ(count, 1);
    };
    EXPECT_EQ(attach(request, calls, 0, MPI_REQUEST_NULL, &status), MPI_SUCCESS);
    make_progress();
    EXPECT_EQ(calls.times, 0);
    send_to_self(9, 4);
    make_progress();
    EXPECT_EQ(calls.times, 1);
    EXPECT_EQ(calls.error, MPI_SUCCESS);
    make_progress();
    EXPECT_EQ(calls.times, 1);
  });
}

TEST(mpi_continuations, a_complete_request_waits_for_progress_unless_its_callback_may_run_immediately) {
  run_ranks(1, [](numbers_of_rank) {
    for (const int flags : {0, MPIX_CONT_IMMEDIATE, MPIX_CONT_DEFER_COMPLETE,
                            MPIX_CONT_IMMEDIATE | MPIX_CONT_DEFER_COMPLETE, MPIX_CONT_IMMEDIATE | MPIX_CONT_FORGET}) {
      const bool is_immediate = (flags & MPIX_CONT_IMMEDIATE) != 0 && (flags & MPIX_CONT_DEFER_COMPLETE) == 0;
      for (const bool is_null : {false, true}) {
        int into = -1;
        const int sent = 5;
        MPI_Request receive = begin_receive(into), request = MPI_REQUEST_NULL;
        if (!is_null) {
          EXPECT_EQ(MPI_Isend(&sent, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
        }
        if (is_null) send_to_self(sent);
        called calls;
        EXPECT_EQ(attach(request, calls, flags), MPI_SUCCESS);
        EXPECT_EQ(calls.times, is_immediate ? 1 : 0);
        make_progress();
        EXPECT_EQ(calls.times, 1);
        EXPECT_EQ(request, MPI_REQUEST_NULL);
        EXPECT_EQ(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(into, 5);
      }
    }
  });
}

TEST(mpi_continuations, one_of_several_requests_runs_after_the_last_with_all_statuses) {
  run_ranks(1, [](numbers_of_rank) {
    std::array<int, 3> into{-1, -1, -1};
    const int sent = 1;
    std::vector<MPI_Request> requests(5, MPI_REQUEST_NULL);  // the last one stays null
    for (std::size_t each = 0; each < 3; ++each) requests[each] = begin_receive(into[each], static_cast<int>(each));
    MPI_Request other = MPI_REQUEST_NULL;
    int taken = 0;
    other = begin_receive(taken, 9);
    EXPECT_EQ(MPI_Isend(&sent, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &requests[3]), MPI_SUCCESS);
    std::array<MPI_Status, 5> statuses{};
    for (MPI_Status& each : statuses) each.MPI_TAG = 77;
    called calls;
    calls.body = [&] {
      EXPECT_EQ(requests, std::vector<MPI_Request>(5, MPI_REQUEST_NULL));
      for (std::size_t each = 0; each < 3; ++each) {
        EXPECT_EQ(into[each], static_cast<int>(each));
        EXPECT_EQ(statuses[each].MPI_TAG, static_cast<int>(each));
      }
      EXPECT_EQ(statuses[4].MPI_TAG, MPI_ANY_TAG);
    };
    EXPECT_EQ(attach_to_all(requests, calls, 0, MPI_REQUEST_NULL, statuses.data()), MPI_SUCCESS);
    for (const int tag : {2, 0, 1}) {
      make_progress();
      EXPECT_EQ(calls.times, 0);
      send_to_self(tag, tag);
    }
    make_progress();
    EXPECT_EQ(calls.times, 1);
    EXPECT_EQ(MPI_Wait(&other, MPI_STATUS_IGNORE), MPI_SUCCESS);
    std::vector<MPI_Request> none;
    EXPECT_EQ(attach_to_all(none, calls, MPIX_CONT_IMMEDIATE), MPI_SUCCESS);
    EXPECT_EQ(calls.times, 2);
  });
}

TEST(mpi_continuations, a_volatile_array_is_null_at_the_return_and_never_touched_again) {
  run_ranks(1, [](numbers_of_rank) {
    std::array<int, 2> into{-1, -1};
    called calls;
    {
      auto requests = std::make_unique<std::vector<MPI_Request>>();
      for (int tag = 0; tag < 2; ++tag) requests->push_back(begin_receive(into[static_cast<std::size_t>(tag)], tag));
      EXPECT_EQ(attach_to_all(*requests, calls, MPIX_CONT_REQBUF_VOLATILE), MPI_SUCCESS);
      EXPECT_EQ(*requests, std::vector<MPI_Request>(2, MPI_REQUEST_NULL));
      auto one = std::make_unique<MPI_Request>(begin_receive(into[0], 7));
      EXPECT_EQ(attach(*one, calls, MPIX_CONT_REQBUF_VOLATILE), MPI_SUCCESS);
      EXPECT_EQ(*one, MPI_REQUEST_NULL);
    }
    for (const int tag : {0, 1, 7}) send_to_self(tag, tag);
    make_progress();
    EXPECT_EQ(calls.times, 2);
    EXPECT_EQ(into, (std::array<int, 2>{7, 1}));
  });
}

TEST(mpi_continuations, of_persistent_requests_wait_for_the_next_start) {
  run_ranks(1, [](numbers_of_rank) {
    int into = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Recv_init(&into, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
    const MPI_Request handle = request;
    called calls;
    for (int round = 0; round < 4; ++round) {
      const bool is_before_start = round % 2 == 0;
      const int flags = round > 1 ? MPIX_CONT_REQBUF_VOLATILE : 0;
      if (!is_before_start) {
        EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
      }
      MPI_Status status{};
      EXPECT_EQ(attach(request, calls, flags, MPI_REQUEST_NULL, &status), MPI_SUCCESS);
      EXPECT_EQ(request, handle);
      make_progress();
      EXPECT_EQ(calls.times, round);
      if (is_before_start) {
        EXPECT_EQ(MPI_Request_free(&request), MPI_ERR_REQUEST);
        EXPECT_EQ(MPI_Startall(1, &request), MPI_SUCCESS);
      }
      make_progress();
      EXPECT_EQ(calls.times, round);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
      send_to_self(round);
      make_progress();
      EXPECT_EQ(calls.times, round + 1);
      EXPECT_EQ(into, round);
      EXPECT_EQ(status.MPI_TAG, 0);
      EXPECT_EQ(request, handle);
      EXPECT_EQ(MPIX_Request_is_complete(request), 1);  // it is inactive
    }
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  });
}

TEST(mpi_continuations, a_persistent_request_is_started_and_continued_by_its_callback) {
  run_ranks(1, [](numbers_of_rank) {
    int into = -1, rounds = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Recv_init(&into, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
    called calls;
    calls.body = [&] {
      EXPECT_EQ(into, rounds);
      if (++rounds == 10) return;
      EXPECT_EQ(attach(request, calls), MPI_SUCCESS);
      EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
    };
    EXPECT_EQ(attach(request, calls), MPI_SUCCESS);
    EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
    for (int round = 0; round < 10; ++round) {
      send_to_self(round);
      make_progress();
    }
    EXPECT_EQ(rounds, 10);
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  });
}

TEST(mpi_continuations, callbacks_start_operations_and_attach_others_but_may_not_wait) {
  for (const int level : {MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE}) {
    run_ranks(
        2,
        [](numbers_of_rank mine) {
          constexpr int rounds = 50;
          const int peer = 1 - mine.rank;
          int into = -1, sent = 0, received = 0;
          MPI_Request receive = MPI_REQUEST_NULL;
          std::function<void()> post;
          called calls, sent_by;
          const auto send = [&] {
            MPI_Request sending = MPI_REQUEST_NULL;
            EXPECT_EQ(MPI_Isend(&sent, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &sending), MPI_SUCCESS);
            EXPECT_EQ(attach(sending, sent_by, MPIX_CONT_REQBUF_VOLATILE | MPIX_CONT_IMMEDIATE), MPI_SUCCESS);
          };
          calls.body = [&] {
            EXPECT_EQ(into, received);
            ++received;
            int never = 0, flag = -1;
            MPI_Request open = begin_receive(never, 99);
            EXPECT_EQ(MPI_Wait(&open, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
            EXPECT_EQ(MPI_Test(&open, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(flag, 0);
            EXPECT_EQ(MPI_Cancel(&open), MPI_SUCCESS);
            EXPECT_EQ(MPI_Wait(&open, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_OTHER);
            EXPECT_EQ(MPI_Finalize(), MPI_ERR_OTHER);
            if (received == rounds) return;
            post();
            if (sent_by.times == sent + 1) ++sent, send();
          };
          sent_by.body = [&] {
            if (sent + 1 < rounds && received > sent) ++sent, send();
          };
          post = [&] {
            EXPECT_EQ(MPI_Irecv(&into, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &receive), MPI_SUCCESS);
            EXPECT_EQ(attach(receive, calls), MPI_SUCCESS);
          };
          post();
          send();
          while (received < rounds || sent_by.times < rounds) make_progress(1);
          EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
        },
        {}, level);
  }
}

TEST(mpi_continuations, immediate_ones_refuse_to_wait_too_and_do_not_nest) {
  run_ranks(1, [](numbers_of_rank) {
    MPI_Request none = MPI_REQUEST_NULL;
    int never = 0, depth = 0;
    MPI_Request open = begin_receive(never, 99);
    home_request home{MPIX_CONT_POLL_ONLY};
    called calls;
    calls.body = [&] {
      EXPECT_EQ(++depth, 1);
      EXPECT_EQ(MPI_Wait(&open, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
      EXPECT_EQ(MPI_Finalize(), MPI_ERR_OTHER);
      EXPECT_FALSE(calls.times > 1 && home.test());
      if (calls.times < 1000) {
        EXPECT_EQ(attach(none, calls, MPIX_CONT_IMMEDIATE), MPI_SUCCESS);
      }
      --depth;
    };
    EXPECT_EQ(attach(none, calls, MPIX_CONT_IMMEDIATE), MPI_SUCCESS);
    EXPECT_EQ(calls.times, 1);
    EXPECT_TRUE(home.test());
    home.start();
    int other = 0;
    MPI_Request held = begin_receive(other, 98);
    called held_by;
    EXPECT_EQ(attach(held, held_by, 0, home.handle), MPI_SUCCESS);
    make_progress(2000);
    EXPECT_EQ(calls.times, 1000);
    send_to_self(1, 98);
    EXPECT_TRUE(home.test_several());
    EXPECT_EQ(MPI_Cancel(&open), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&open, MPI_STATUS_IGNORE), MPI_SUCCESS);
  });
}

TEST(mpi_continuations, of_requests_that_began_before_the_process_had_any_run_too) {
  run_ranks(1, [](numbers_of_rank) {
    std::array<int, 2> into{-1, -1};
    std::array<called, 2> calls{};
    std::array<MPI_Request, 2> requests{};
    for (std::size_t each = 0; each < 2; ++each) {
      requests[each] = begin_receive(into[each], static_cast<int>(each));
      mpi::find_request(requests[each])->waiter.reset(weft::detail::never_awaited);
      EXPECT_EQ(attach(requests[each], calls[each]), MPI_SUCCESS);
    }
    make_progress(3000);  // longer than a hook looks for what may run
    send_to_self(3, 0);
    make_progress(80);
    EXPECT_EQ(calls[0].times, 1);
    EXPECT_EQ(calls[1].times, 0);  // the end of the rank detaches it
  });
}

TEST(mpi_continuations, run_after_a_long_time_without_any) {
  run_ranks(1, [](numbers_of_rank) {
    for (int round = 0; round < 3; ++round) {
      int into = -1;
      MPI_Request request = begin_receive(into);
      called calls;
      EXPECT_EQ(attach(request, calls), MPI_SUCCESS);
      make_progress(3000);
      send_to_self(3);
      make_progress(80);
      EXPECT_EQ(calls.times, 1);
    }
  });
}

TEST(mpi_continuations, of_cancelled_and_generalized_requests_and_collectives) {
  run_ranks(2, [](numbers_of_rank mine) {
    int into = -1;
    MPI_Request request = begin_receive(into);
    called calls;
    MPI_Status status{};
    if (mine.size > 1) {
      EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      request = begin_receive(into, 5);
    }
    EXPECT_EQ(attach(request, calls, 0, MPI_REQUEST_NULL, &status), MPI_SUCCESS);
    EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
    make_progress();
    int flag = 0;
    EXPECT_EQ(calls.times, 1);
    EXPECT_EQ(MPI_Test_cancelled(&status, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);

    int frees = 0;
    EXPECT_EQ(MPI_Grequest_start([](void*, MPI_Status*) { return MPI_SUCCESS; },
                                 [](void* state) { return ++*static_cast<int*>(state), MPI_SUCCESS; },
                                 [](void*, int) { return MPI_SUCCESS; }, &frees, &request),
              MPI_SUCCESS);
    const MPI_Request handle = request;
    EXPECT_EQ(attach(request, calls, MPIX_CONT_REQBUF_VOLATILE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Grequest_complete(handle), MPI_SUCCESS);
    make_progress();
    EXPECT_EQ(calls.times, 2);
    EXPECT_EQ(frees, 1);

    MPI_Comm made = MPI_COMM_NULL;
    EXPECT_EQ(MPI_Comm_idup(MPI_COMM_WORLD, &made, &request), MPI_SUCCESS);
    EXPECT_EQ(attach(request, calls), MPI_SUCCESS);
    while (calls.times < 3) make_progress(1);
    int sum = 0;
    EXPECT_EQ(MPI_Iallreduce(&mine.rank, &sum, 1, MPI_INT, MPI_SUM, made, &request), MPI_SUCCESS);
    EXPECT_EQ(attach(request, calls), MPI_SUCCESS);
    while (calls.times < 4) make_progress(1);
    EXPECT_EQ(sum, 1);
    EXPECT_EQ(MPI_Comm_free(&made), MPI_SUCCESS);
  });
}

TEST(mpi_continuations, of_many_threads_run_once_each) {
  const auto body = [](numbers_of_rank) {
    constexpr int threads = 4, rounds = 200;
    std::array<std::atomic<int>, threads> runs{};
    MPI_Request home = MPI_REQUEST_NULL;
    EXPECT_EQ(MPIX_Continue_init(0, 0, MPI_INFO_NULL, &home), MPI_SUCCESS);
    EXPECT_EQ(MPI_Start(&home), MPI_SUCCESS);
    test::run_threads_of_rank(threads, [&](int thread) {
      auto& mine = runs[static_cast<std::size_t>(thread)];
      std::vector<int> into(rounds, -1), sent(rounds);
      for (int round = 0; round < rounds; ++round) {
        const auto at = static_cast<std::size_t>(round);
        sent[at] = round;
        MPI_Request request = MPI_REQUEST_NULL, sending = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Irecv(&into[at], 1, MPI_INT, 0, thread, MPI_COMM_SELF, &request), MPI_SUCCESS);
        EXPECT_EQ(MPIX_Continue(
                      &request,
                      [](int, void* counted) {
                        // [continuations_test.run] release -> [continuations_test.see]: the message.
                        static_cast<std::atomic<int>*>(counted)->fetch_add(1, std::memory_order_release);
                        return MPI_SUCCESS;
                      },
                      &mine, MPIX_CONT_REQBUF_VOLATILE, MPI_STATUS_IGNORE, round % 2 == 0 ? home : MPI_REQUEST_NULL),
                  MPI_SUCCESS);
        EXPECT_EQ(MPI_Isend(&sent[at], 1, MPI_INT, 0, thread, MPI_COMM_SELF, &sending), MPI_SUCCESS);
        EXPECT_EQ(MPI_Wait(&sending, MPI_STATUS_IGNORE), MPI_SUCCESS);
      }
      // [continuations_test.see] acquire <- [continuations_test.run]: the messages.
      while (mine.load(std::memory_order_acquire) < rounds) make_progress(1);
      EXPECT_EQ(into, sent);
    });
    EXPECT_EQ(MPI_Wait(&home, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Request_free(&home), MPI_SUCCESS);
  };
  run_ranks(1, body, {}, MPI_THREAD_MULTIPLE);
}

}  // namespace
}  // namespace weft::continued
