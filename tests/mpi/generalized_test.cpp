// SPDX-License-Identifier: BSD-3-Clause
// Generalized requests (13.2).
#include <array>

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

// Counts the calls of its functions.
struct generalized_state {
  int queries = 0;
  int frees = 0;
  int cancels_of_open = 0;
  int error_of_query = MPI_SUCCESS;
  int error_of_free = MPI_SUCCESS;

  static int query(void* state, MPI_Status* status) {
    auto& of = *static_cast<generalized_state*>(state);
    ++of.queries;
    EXPECT_EQ(MPI_Status_set_elements(status, MPI_INT, 3), MPI_SUCCESS);
    EXPECT_EQ(MPI_Status_set_cancelled(status, of.cancels_of_open), MPI_SUCCESS);
    status->MPI_SOURCE = 6;
    status->MPI_TAG = 7;
    return of.error_of_query;
  }
  static int free(void* state) {
    auto& of = *static_cast<generalized_state*>(state);
    ++of.frees;
    return of.error_of_free;
  }
  static int cancel(void* state, int is_complete) {
    if (is_complete == 0) ++static_cast<generalized_state*>(state)->cancels_of_open;
    return MPI_SUCCESS;
  }
  MPI_Request start() {
    MPI_Request out = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Grequest_start(query, free, cancel, this, &out), MPI_SUCCESS);
    return out;
  }
};

TEST(mpi_generalized, the_query_gives_the_status_and_free_comes_once_after_it) {
  run_ranks(1, [](numbers_of_rank) {
    generalized_state state;
    MPI_Request request = state.start();
    MPI_Status status{};
    int flag = 1, count = 0;
    EXPECT_EQ(MPI_Test(&request, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(state.queries, 0);
    EXPECT_EQ(MPI_Grequest_complete(request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Request_get_status(request, &flag, &status), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(status.MPI_TAG, 7);
    EXPECT_EQ(state.queries, 1);
    EXPECT_EQ(state.frees, 0);
    EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_EQ(state.queries, 2);
    EXPECT_EQ(state.frees, 1);
    EXPECT_EQ(status.MPI_SOURCE, 6);
    EXPECT_EQ(MPI_Get_count(&status, MPI_INT, &count), MPI_SUCCESS);
    EXPECT_EQ(count, 3);
  });
}

TEST(mpi_generalized, another_thread_completes_the_request_for_which_one_waits) {
  const auto body = [](numbers_of_rank) {
    generalized_state state;
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, state.start()};
    test::run_threads_of_rank(2, [&](int thread) {
      if (thread == 0) {
        EXPECT_EQ(MPI_Grequest_complete(requests[1]), MPI_SUCCESS);
        return;
      }
      std::array<MPI_Request, 2> awaited = requests;
      int index = 0;
      EXPECT_EQ(MPI_Waitany(2, awaited.data(), &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(index, 1);
    });
    EXPECT_EQ(state.frees, 1);
  };
  run_ranks(1, body, {}, MPI_THREAD_MULTIPLE);
}

TEST(mpi_generalized, a_request_that_was_freed_before_it_is_complete_is_freed_then) {
  // 13.2: free_fn is called when the request is both complete and freed.
  run_ranks(1, [](numbers_of_rank) {
    generalized_state early, late;
    MPI_Request request = early.start();
    const MPI_Request copy = request;
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    EXPECT_EQ(early.frees, 0);
    EXPECT_EQ(MPI_Grequest_complete(copy), MPI_SUCCESS);
    EXPECT_EQ(early.frees, 1);
    request = late.start();
    EXPECT_EQ(MPI_Grequest_complete(request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    EXPECT_EQ(late.frees, 1);
    EXPECT_EQ(late.queries, 0);
  });
}

TEST(mpi_generalized, cancel_calls_the_programs_function_and_errors_of_the_functions_are_returned) {
  run_ranks(1, [](numbers_of_rank) {
    generalized_state state{.error_of_query = MPI_ERR_OTHER}, second{.error_of_free = MPI_ERR_IO};
    std::array<MPI_Request, 2> requests{state.start(), second.start()};
    std::array<MPI_Status, 2> statuses{};
    EXPECT_EQ(MPI_Cancel(&requests[0]), MPI_SUCCESS);
    EXPECT_EQ(state.cancels_of_open, 1);
    for (const MPI_Request each : requests) EXPECT_EQ(MPI_Grequest_complete(each), MPI_SUCCESS);
    EXPECT_EQ(MPI_Cancel(&requests[0]), MPI_SUCCESS);
    EXPECT_EQ(state.cancels_of_open, 1);
    EXPECT_EQ(MPI_Waitall(2, requests.data(), statuses.data()), MPI_ERR_IN_STATUS);
    EXPECT_EQ(statuses[0].MPI_ERROR, MPI_ERR_OTHER);
    EXPECT_EQ(statuses[1].MPI_ERROR, MPI_ERR_IO);
    int flag = 0;
    EXPECT_EQ(MPI_Test_cancelled(&statuses[0], &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
  });
}

TEST(mpi_generalized, an_ordinary_or_complete_request_cannot_be_completed) {
  run_ranks(1, [](numbers_of_rank) {
    generalized_state state;
    int number = 0;
    MPI_Request ordinary = MPI_REQUEST_NULL, request = state.start();
    EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &ordinary), MPI_SUCCESS);
    EXPECT_EQ(MPI_Grequest_complete(ordinary), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Grequest_complete(MPI_REQUEST_NULL), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Grequest_complete(request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&ordinary, MPI_STATUS_IGNORE), MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace weft
