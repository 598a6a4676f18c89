// SPDX-License-Identifier: BSD-3-Clause
// Messages with a rank that has ended: MPI_ERR_PROC_ABORTED. Here a rank is declared ended that is still there.
#include <array>
#include <vector>

#include "core/runtime/runtime_state.hpp"
#include "mpi/ranks.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"

namespace weft {
namespace {

// Runs `body` at rank 0 of two. In the midst of it, `end_peer` declares rank 1 ended.
void run_beside_dead_peer(const std::function<void(const std::function<void()>& end_peer)>& body) {
  test::flag is_over;
  test::local_job{2}.run([&](runtime& rt) {
    mpi::rank_slot slot{.given = &rt};
    mpi::be_thread_of(&slot);
    EXPECT_EQ(MPI_Init(nullptr, nullptr), MPI_SUCCESS);
    for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF})
      EXPECT_EQ(MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN), MPI_SUCCESS);
    const auto end_peer = [&] {
      test::local_job::state_of(rt).peer_ends().note({.rank = 1 - rt.rank(), .in_order = false});
    };
    if (rt.rank() == 0) {
      body(end_peer);
      is_over.raise();
    } else {
      EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return is_over.is_raised(); }));
      end_peer();
    }
    EXPECT_EQ(MPI_Finalize(), MPI_ERR_PROC_ABORTED);
    mpi::be_thread_of(nullptr);
  });
}

TEST(mpi_dead_peers, operations_under_way_with_a_rank_that_ends_complete_with_an_error) {
  run_beside_dead_peer([](const std::function<void()>& end_peer) {
    std::vector<int> numbers(300'000);
    int received = 3;
    std::array<MPI_Request, 3> requests{};
    EXPECT_EQ(MPI_Irecv(&received, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Isend(numbers.data(), 300'000, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Issend(numbers.data(), 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[2]), MPI_SUCCESS);
    end_peer();
    for (MPI_Request& each : requests) {
      EXPECT_EQ(MPI_Wait(&each, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
      EXPECT_EQ(each, MPI_REQUEST_NULL);
    }
    EXPECT_EQ(received, 3);
  });
}

TEST(mpi_dead_peers, operations_that_start_after_its_end_and_need_it_complete_with_an_error) {
  run_beside_dead_peer([](const std::function<void()>& end_peer) {
    int number = 0;
    MPI_Request request = MPI_REQUEST_NULL, persistent = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Ssend_init(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &persistent), MPI_SUCCESS);
    end_peer();
    // Short messages of other modes complete here, as long as there is room for them.
    EXPECT_EQ(MPI_Recv(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
    EXPECT_EQ(MPI_Ssend(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD), MPI_ERR_PROC_ABORTED);
    EXPECT_EQ(MPI_Issend(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
    EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
    EXPECT_EQ(MPI_Sendrecv(&number, 1, MPI_INT, 1, 0, &number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              MPI_ERR_PROC_ABORTED);
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(MPI_Start(&persistent), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&persistent, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
    }
    EXPECT_EQ(MPI_Request_free(&persistent), MPI_SUCCESS);
  });
}

TEST(mpi_dead_peers, a_wait_for_all_ends_with_the_failure_and_names_the_others_pending) {
  run_beside_dead_peer([](const std::function<void()>& end_peer) {
    int number = 0, sent = 4;
    std::array<MPI_Request, 2> requests{};
    std::array<MPI_Status, 2> statuses{};
    EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
    end_peer();
    EXPECT_EQ(MPI_Waitall(2, requests.data(), statuses.data()), MPI_ERR_IN_STATUS);
    EXPECT_EQ(statuses[0].MPI_ERROR, MPI_ERR_PENDING);
    EXPECT_EQ(statuses[1].MPI_ERROR, MPI_ERR_PROC_ABORTED);
    EXPECT_EQ(MPI_Send(&sent, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(MPI_Waitall(2, requests.data(), statuses.data()), MPI_SUCCESS);
    EXPECT_EQ(number, 4);
  });
}

}  // namespace
}  // namespace weft
