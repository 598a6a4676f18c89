// SPDX-License-Identifier: BSD-3-Clause
// Continuations of requests that fail, callbacks that return an error, and wrong calls.
#include <array>
#include <thread>
#include <vector>

#include "mpi/continued_calls.hpp"

namespace weft::continued {
namespace {

int calls_of_handler = 0, code_of_handler = 0;
MPI_Comm comm_of_handler = MPI_COMM_NULL;
void note_call(MPI_Comm* comm, int* code, ...) {
  ++calls_of_handler;
  code_of_handler = *code;
  comm_of_handler = *comm;
}

TEST(mpi_continuation_errors, a_failure_goes_to_the_callback_or_to_the_continuation_request_or_to_the_error_handler) {
  run_ranks(1, [](numbers_of_rank) {
    int into = -1;
    called calls;
    MPI_Status status{};
    MPI_Request request = begin_receive(into);
    EXPECT_EQ(attach(request, calls, MPIX_CONT_INVOKE_FAILED, MPI_REQUEST_NULL, &status), MPI_SUCCESS);
    send_two_to_self();
    make_progress();
    EXPECT_EQ(calls.times, 1);
    EXPECT_EQ(calls.error, MPI_ERR_TRUNCATE);
    EXPECT_EQ(request, MPI_REQUEST_NULL);

    home_request home;
    request = begin_receive(into);
    EXPECT_EQ(attach(request, calls, 0, home.handle), MPI_SUCCESS);
    send_two_to_self();
    EXPECT_TRUE(home.test_several(MPI_ERR_TRUNCATE));
    EXPECT_EQ(calls.times, 1);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    home.start();
    EXPECT_TRUE(home.test());  // the error was shown once

    calls_of_handler = 0;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    EXPECT_EQ(MPI_Comm_create_errhandler(note_call, &handler), MPI_SUCCESS);
    MPI_Comm comm = MPI_COMM_NULL;
    EXPECT_EQ(MPI_Comm_dup(MPI_COMM_SELF, &comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(comm, handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Irecv(&into, 1, MPI_INT, 0, 0, comm, &request), MPI_SUCCESS);
    EXPECT_EQ(attach(request, calls), MPI_SUCCESS);
    const std::array<int, 2> numbers{1, 2};
    EXPECT_EQ(MPI_Send(numbers.data(), 2, MPI_INT, 0, 0, comm), MPI_SUCCESS);
    make_progress();
    EXPECT_EQ(calls.times, 1);
    EXPECT_EQ(calls_of_handler, 1);
    EXPECT_EQ(code_of_handler, MPI_ERR_TRUNCATE);
    EXPECT_EQ(comm_of_handler, comm);
    EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
  });
}

TEST(mpi_continuation_errors, the_first_error_of_several_is_given_and_all_statuses_have_theirs) {
  run_ranks(1, [](numbers_of_rank) {
    std::array<int, 3> into{};
    std::vector<MPI_Request> requests;
    for (int tag = 0; tag < 3; ++tag) requests.push_back(begin_receive(into[static_cast<std::size_t>(tag)], tag));
    std::array<MPI_Status, 3> statuses{};
    called calls;
    EXPECT_EQ(attach_to_all(requests, calls, MPIX_CONT_INVOKE_FAILED, MPI_REQUEST_NULL, statuses.data()), MPI_SUCCESS);
    send_to_self(1, 2);
    send_two_to_self(1);
    send_to_self(1, 0);
    make_progress();
    EXPECT_EQ(calls.times, 1);
    EXPECT_EQ(calls.error, MPI_ERR_TRUNCATE);
    EXPECT_EQ(statuses[0].MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
    EXPECT_EQ(statuses[2].MPI_ERROR, MPI_SUCCESS);
  });
}

TEST(mpi_continuation_errors, what_a_callback_returns_fails_its_request_or_goes_to_the_error_handler_of_self) {
  run_ranks(1, [](numbers_of_rank) {
    home_request home;
    MPI_Request none = MPI_REQUEST_NULL;
    called calls{.answer = MPI_ERR_IO}, good;
    EXPECT_EQ(attach(none, good, 0, home.handle), MPI_SUCCESS);
    EXPECT_EQ(attach(none, calls, 0, home.handle), MPI_SUCCESS);
    EXPECT_TRUE(home.test_several(MPI_ERR_IO));
    EXPECT_EQ(good.times, 1);
    calls_of_handler = 0;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    EXPECT_EQ(MPI_Comm_create_errhandler(note_call, &handler), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler), MPI_SUCCESS);
    EXPECT_EQ(attach(none, calls), MPI_SUCCESS);
    make_progress();
    EXPECT_EQ(attach(none, calls, MPIX_CONT_IMMEDIATE), MPI_SUCCESS);
    EXPECT_EQ(calls_of_handler, 2);
    EXPECT_EQ(code_of_handler, MPI_ERR_IO);
    EXPECT_EQ(comm_of_handler, MPI_COMM_SELF);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), MPI_SUCCESS);
    EXPECT_EQ(MPI_Errhandler_free(&handler), MPI_SUCCESS);
  });
}

TEST(mpi_continuation_errors, a_request_with_one_belongs_to_it_and_wrong_calls_change_nothing) {
  run_ranks(1, [](numbers_of_rank) {
    home_request home;
    int into = -1, other_into = -1, flag = 0;
    MPI_Request request = begin_receive(into), other = begin_receive(other_into, 1);
    called calls;
    EXPECT_EQ(attach(request, calls, 0, home.handle), MPI_SUCCESS);
    const MPI_Request before = request;
    EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Request_free(&request), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Start(&request), MPI_ERR_REQUEST);
    EXPECT_EQ(attach(request, calls), MPI_ERR_REQUEST);
    EXPECT_EQ(request, before);
    std::vector<MPI_Request> several{other, request};
    EXPECT_EQ(attach_to_all(several, calls), MPI_ERR_REQUEST);
    several = {other, other};
    EXPECT_EQ(attach_to_all(several, calls), MPI_ERR_REQUEST);
    EXPECT_EQ(several, (std::vector<MPI_Request>{other, other}));
    EXPECT_EQ(attach(other, calls, 0, other), MPI_ERR_REQUEST);
    EXPECT_EQ(attach(home.handle, calls), MPI_ERR_REQUEST);
    EXPECT_EQ(attach(other, calls, MPIX_CONT_POLL_ONLY), MPI_ERR_ARG);
    EXPECT_EQ(attach(other, calls, 1 << 20), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Continue(&other, nullptr, nullptr, 0, MPI_STATUS_IGNORE, MPI_REQUEST_NULL), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Continue(nullptr, &called::run, &calls, 0, MPI_STATUS_IGNORE, MPI_REQUEST_NULL), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Continueall(-1, several.data(), &called::run, &calls, 0, MPI_STATUSES_IGNORE, MPI_REQUEST_NULL),
              MPI_ERR_COUNT);
    EXPECT_EQ(MPIX_Continueall(1, nullptr, &called::run, &calls, 0, MPI_STATUSES_IGNORE, MPI_REQUEST_NULL),
              MPI_ERR_ARG);
    MPI_Request made = MPI_REQUEST_NULL;
    EXPECT_EQ(MPIX_Continue_init(MPIX_CONT_IMMEDIATE, 0, MPI_INFO_NULL, &made), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Continue_init(0, -1, MPI_INFO_NULL, &made), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Continue_init(0, 0, MPI_INFO_NULL, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(made, MPI_REQUEST_NULL);
    send_to_self(1, 1);
    EXPECT_EQ(MPI_Wait(&other, MPI_STATUS_IGNORE), MPI_SUCCESS);  // as if nothing had been tried
    EXPECT_EQ(other_into, 1);
    send_to_self(2);
    EXPECT_TRUE(home.test_several());
    EXPECT_EQ(calls.times, 1);
  });
}

TEST(mpi_continuation_errors, a_request_that_another_call_waits_for_takes_none_where_calls_are_checked) {
  run_ranks(
      1,
      [](numbers_of_rank) {
        int into = -1;
        MPI_Request request = begin_receive(into);
        called calls;
        test::run_threads_of_rank(2, [&](int thread) {
          if (thread == 0) {
            MPI_Request mine = request;
            EXPECT_EQ(MPI_Wait(&mine, MPI_STATUS_IGNORE), MPI_SUCCESS);
            return;
          }
          // The other thread waits once this one is refused; before, there is nothing to refuse. A request that takes
          // the continuation gives it back here.
          MPI_Request mine = request;
          mpi::rank_state& rank = *mpi::current_slot().state;
          std::uint64_t probe = 0;
          for (;;) {
            const int answer = rank.session.checks->begin_completing("a probe", {mpi::find_request(mine)}, probe);
            if (answer != MPI_SUCCESS) break;
            rank.session.checks->end_completing(probe);
            std::this_thread::yield();
          }
          EXPECT_EQ(attach(mine, calls), MPI_ERR_REQUEST);
          send_to_self(1);
        });
        EXPECT_EQ(calls.times, 0);
        EXPECT_EQ(into, 1);
      },
      {.check = true}, MPI_THREAD_MULTIPLE);
}

}  // namespace
}  // namespace weft::continued
