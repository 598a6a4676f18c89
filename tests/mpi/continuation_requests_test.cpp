// SPDX-License-Identifier: BSD-3-Clause
// Continuation requests: their starts, tests, waits and frees, polled ones, and the end of the rank.
#include <array>
#include <vector>

#include "mpi/continued_calls.hpp"

namespace weft::continued {
namespace {

TEST(mpi_continuation_requests, a_continuation_request_is_complete_when_all_that_count_have_run) {
  run_ranks(1, [](numbers_of_rank) {
    home_request home;
    EXPECT_TRUE(home.test());  // none is registered
    std::array<int, 3> into{};
    std::array<called, 3> calls{};
    for (int round = 0; round < 3; ++round) {
      home.start();
      std::array<MPI_Request, 3> requests{};
      for (std::size_t each = 0; each < 3; ++each) {
        requests[each] = begin_receive(into[each], static_cast<int>(each));
        const int flags = each == 2 ? MPIX_CONT_FORGET : 0;
        EXPECT_EQ(attach(requests[each], calls[each], flags, home.handle), MPI_SUCCESS);
      }
      EXPECT_FALSE(home.test_several());
      EXPECT_EQ(MPIX_Request_is_complete(home.handle), 0);
      EXPECT_EQ(MPI_Request_free(&home.handle), MPI_ERR_REQUEST);
      send_to_self(1, 1);
      EXPECT_FALSE(home.test_several());
      send_to_self(0, 0);
      EXPECT_TRUE(home.test_several());
      EXPECT_EQ(calls[2].times, round);
      EXPECT_EQ(MPI_Request_free(&home.handle), MPI_ERR_REQUEST);  // the one that is forgotten needs it still
      send_to_self(2, 2);
      make_progress();
      EXPECT_EQ(calls[2].times, round);  // it is not started
      home.start();
      make_progress();
      for (const called& each : calls) EXPECT_EQ(each.times, round + 1);
      EXPECT_TRUE(home.test());
    }
  });
}

TEST(mpi_continuation_requests, of_a_request_that_is_not_started_wait_for_its_start) {
  run_ranks(1, [](numbers_of_rank) {
    home_request home{0, 0, false};
    int into = -1;
    MPI_Request request = begin_receive(into);
    called calls, null;
    MPI_Request none = MPI_REQUEST_NULL;
    EXPECT_EQ(attach(request, calls, MPIX_CONT_IMMEDIATE, home.handle), MPI_SUCCESS);
    EXPECT_EQ(attach(none, null, MPIX_CONT_IMMEDIATE, home.handle), MPI_SUCCESS);
    send_to_self(3);
    make_progress();
    EXPECT_TRUE(home.test());  // as it is inactive
    EXPECT_EQ(calls.times + null.times, 0);
    home.start();
    EXPECT_TRUE(home.test_several());
    EXPECT_EQ(calls.times, 1);
    EXPECT_EQ(null.times, 1);
  });
}

TEST(mpi_continuation_requests, that_are_polled_run_in_tests_of_their_request_alone_at_most_so_many_at_a_time) {
  run_ranks(1, [](numbers_of_rank) {
    for (const int polls_max : {0, 2}) {
      home_request home{MPIX_CONT_POLL_ONLY, polls_max};
      constexpr std::size_t count = 5;
      std::array<int, count> into{};
      std::array<MPI_Request, count> requests{};
      std::vector<int> order;
      std::array<called, count> calls{};
      for (std::size_t each = 0; each < count; ++each) {
        requests[each] = begin_receive(into[each], static_cast<int>(each));
        calls[each].body = [&, each] { order.push_back(static_cast<int>(each)); };
        EXPECT_EQ(attach(requests[each], calls[each], MPIX_CONT_IMMEDIATE, home.handle), MPI_SUCCESS);
      }
      for (const int tag : {3, 1, 0, 4, 2}) send_to_self(tag, tag);
      make_progress(20);
      EXPECT_TRUE(order.empty());
      if (polls_max != 0) {
        EXPECT_FALSE(home.test());
        EXPECT_EQ(order, (std::vector<int>{3, 1}));
        EXPECT_FALSE(home.test());
        EXPECT_EQ(order.size(), 4U);
      }
      EXPECT_EQ(MPI_Wait(&home.handle, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(order, (std::vector<int>{3, 1, 0, 4, 2}));
    }
  });
}

TEST(mpi_continuation_requests, are_waited_for_by_all_functions_of_requests) {
  run_ranks(1, [](numbers_of_rank) {
    for (const int flags : {0, MPIX_CONT_POLL_ONLY}) {
      for (int function = 0; function < 7; ++function) {
        home_request home{flags, 1};
        int into = -1, into_other = -1;
        MPI_Request request = begin_receive(into, 0), other = begin_receive(into_other, 1);
        called calls;
        EXPECT_EQ(attach(request, calls, 0, home.handle), MPI_SUCCESS);
        send_to_self(1, 0);
        if (function % 2 == 0) send_to_self(2, 1);
        std::array<MPI_Request, 2> both{other, home.handle};
        int flag = 0, index = -1, count = 0;
        std::array<int, 2> indices{};
        bool has_other = false;
        for (int look = 0; look < 10'000 && calls.times == 0; ++look) {
          switch (function) {
            case 0: EXPECT_EQ(MPI_Waitall(2, both.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS); break;
            case 1: EXPECT_EQ(MPI_Waitany(2, both.data(), &index, MPI_STATUS_IGNORE), MPI_SUCCESS); break;
            case 2: EXPECT_EQ(MPI_Testall(2, both.data(), &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS); break;
            case 3: EXPECT_EQ(MPI_Testany(2, both.data(), &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS); break;
            case 4:
              EXPECT_EQ(MPI_Waitsome(2, both.data(), &count, indices.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
              break;
            case 5: EXPECT_EQ(MPI_Request_get_status(home.handle, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS); break;
            default: EXPECT_EQ(MPI_Wait(&both[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
          }
          has_other |= both[0] == MPI_REQUEST_NULL;
        }
        EXPECT_EQ(calls.times, 1) << function;
        if (function % 2 == 0) {
          EXPECT_EQ(MPI_Wait(&both[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
          EXPECT_EQ(into_other, 2);
        } else {
          EXPECT_FALSE(has_other);
          send_to_self(2, 1);
          EXPECT_EQ(MPI_Wait(&both[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
        EXPECT_TRUE(home.test_several());
      }
    }
  });
}

TEST(mpi_continuation_requests, finalize_runs_those_that_may_run_and_detaches_the_others) {
  int runs = 0;
  std::array<int, 4> into{};
  std::array<MPI_Request, 4> requests{};
  std::array<called, 4> calls{};
  MPI_Request home = MPI_REQUEST_NULL, polled = MPI_REQUEST_NULL, none = MPI_REQUEST_NULL;
  run_ranks(1, [&](numbers_of_rank) {
    EXPECT_EQ(MPIX_Continue_init(0, 0, MPI_INFO_NULL, &home), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Continue_init(MPIX_CONT_POLL_ONLY, 0, MPI_INFO_NULL, &polled), MPI_SUCCESS);
    EXPECT_EQ(MPI_Start(&polled), MPI_SUCCESS);
    for (std::size_t each = 0; each < 3; ++each) requests[each] = begin_receive(into[each], static_cast<int>(each));
    calls[3].body = [&] {
      if (++runs < 3) {
        EXPECT_EQ(attach(none, calls[3]), MPI_SUCCESS);
      }
    };
    EXPECT_EQ(attach(requests[0], calls[0], 0, home), MPI_SUCCESS);
    EXPECT_EQ(attach(requests[1], calls[1], 0, polled), MPI_SUCCESS);
    EXPECT_EQ(attach(requests[2], calls[2]), MPI_SUCCESS);
    send_to_self(1, 0);
    send_to_self(1, 1);
    make_progress();
    EXPECT_EQ(attach(none, calls[3]), MPI_SUCCESS);
  });
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(calls[0].times + calls[1].times + calls[2].times, 0);
}

TEST(mpi_continuation_requests, run_callbacks_of_a_stream_where_it_makes_progress) {
  const auto body = [](numbers_of_rank) {
    for (const int flags : {0, MPIX_CONT_POLL_ONLY}) {
      MPIX_Stream stream = MPIX_STREAM_NULL;
      MPI_Comm comm = MPI_COMM_NULL;
      EXPECT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &stream), MPI_SUCCESS);
      EXPECT_EQ(MPIX_Stream_comm_create(MPI_COMM_SELF, stream, &comm), MPI_SUCCESS);
      {
        home_request home{flags};
        const int sent = 3;
        int into = -1;
        MPI_Request request = MPI_REQUEST_NULL;
        called calls;
        EXPECT_EQ(MPI_Irecv(&into, 1, MPI_INT, 0, 0, comm, &request), MPI_SUCCESS);
        EXPECT_EQ(attach(request, calls, 0, home.handle), MPI_SUCCESS);
        EXPECT_EQ(MPI_Send(&sent, 1, MPI_INT, 0, 0, comm), MPI_SUCCESS);
        make_progress();  // of the default stream
        EXPECT_EQ(calls.times, 0);
        EXPECT_EQ(MPIX_Stream_free(&stream), MPI_ERR_OTHER);
        EXPECT_TRUE(home.test_several());
        EXPECT_EQ(calls.times, 1);
        EXPECT_EQ(into, 3);
      }
      EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
      EXPECT_EQ(MPIX_Stream_free(&stream), MPI_SUCCESS);
    }
    // One that is left, with its stream.
    static int never = -1;
    static called left;
    MPIX_Stream stream = MPIX_STREAM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &stream), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Stream_comm_create(MPI_COMM_SELF, stream, &comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Irecv(&never, 1, MPI_INT, 0, 0, comm, &request), MPI_SUCCESS);
    EXPECT_EQ(attach(request, left, MPIX_CONT_REQBUF_VOLATILE), MPI_SUCCESS);
  };
  run_ranks(1, body, {}, MPI_THREAD_MULTIPLE);
}

}  // namespace
}  // namespace weft::continued
