// SPDX-License-Identifier: BSD-3-Clause
// Short calls for tests of continuations.
#pragma once

#include <functional>
#include <vector>

#include "mpi/ranks.hpp"
#include "mpix.h"

namespace weft::continued {

using test::numbers_of_rank;
using test::run_ranks;

inline constexpr int no_error_yet = -77;

// What a callback has found.
struct called {
  int times = 0;
  int error = no_error_yet;
  int answer = MPI_SUCCESS;
  std::function<void()> body{};

  static int run(int error, void* data) {
    auto& self = *static_cast<called*>(data);
    ++self.times;
    self.error = error;
    if (self.body) self.body();
    return self.answer;
  }
};

inline void make_progress(int calls = 5) {
  for (int call = 0; call < calls; ++call) EXPECT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
}

inline MPI_Request begin_receive(int& into, int tag = 0, int count = 1) {
  MPI_Request out = MPI_REQUEST_NULL;
  EXPECT_EQ(MPI_Irecv(&into, count, MPI_INT, 0, tag, MPI_COMM_SELF, &out), MPI_SUCCESS);
  return out;
}
inline void send_to_self(int number, int tag = 0) {
  EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, 0, tag, MPI_COMM_SELF), MPI_SUCCESS);
}
inline void send_two_to_self(int tag = 0) {
  const std::array<int, 2> numbers{1, 2};
  EXPECT_EQ(MPI_Send(numbers.data(), 2, MPI_INT, 0, tag, MPI_COMM_SELF), MPI_SUCCESS);
}

inline int attach(MPI_Request& request, called& calls, int flags = 0, MPI_Request home = MPI_REQUEST_NULL,
                  MPI_Status* status = MPI_STATUS_IGNORE) {
  return MPIX_Continue(&request, &called::run, &calls, flags, status, home);
}
inline int attach_to_all(std::vector<MPI_Request>& requests, called& calls, int flags = 0,
                         MPI_Request home = MPI_REQUEST_NULL, MPI_Status* statuses = MPI_STATUSES_IGNORE) {
  return MPIX_Continueall(static_cast<int>(requests.size()), requests.data(), &called::run, &calls, flags, statuses,
                          home);
}

// A continuation request, which is started.
class home_request {
 public:
  explicit home_request(int flags = 0, int polls_max = 0, bool starts = true) {
    EXPECT_EQ(MPIX_Continue_init(flags, polls_max, MPI_INFO_NULL, &handle), MPI_SUCCESS);
    if (starts) start();
  }
  ~home_request() {
    if (handle == MPI_REQUEST_NULL) return;
    EXPECT_EQ(MPI_Request_free(&handle), MPI_SUCCESS);
  }
  home_request(const home_request&) = delete;
  home_request& operator=(const home_request&) = delete;
  void start() { EXPECT_EQ(MPI_Start(&handle), MPI_SUCCESS); }
  // Whether a test finds it complete.
  bool test(int expected_error = MPI_SUCCESS) {
    int flag = -1;
    const int error = MPI_Test(&handle, &flag, MPI_STATUS_IGNORE);
    EXPECT_EQ(error, flag == 1 ? expected_error : MPI_SUCCESS);
    EXPECT_NE(handle, MPI_REQUEST_NULL);
    return flag == 1;
  }
  // Tests that are enough for all that may run.
  bool test_several(int expected_error = MPI_SUCCESS) {
    for (int look = 0; look < 5; ++look) {
      if (test(expected_error)) return true;
    }
    return false;
  }

  MPI_Request handle = MPI_REQUEST_NULL;
};

}  // namespace weft::continued
