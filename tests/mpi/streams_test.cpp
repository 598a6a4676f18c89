// SPDX-License-Identifier: BSD-3-Clause
// Streams: their devices, their hooks, progress on them, and wrong uses.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/streams.hpp"
#include "support/waiting.hpp"

namespace weft {
namespace {

using test::call_body;
using test::hook_body;
using test::numbers_of_rank;
using test::own_stream;
using test::start_hook;

TEST(mpi_streams, have_a_device_each_which_a_freed_one_gives_back) {
  test::run_stream_ranks(1, [](numbers_of_rank) {
    std::vector<MPIX_Stream> all;
    for (int error = MPI_SUCCESS; error == MPI_SUCCESS && all.size() < 100;) {
      MPIX_Stream made = MPIX_STREAM_NULL;
      error = MPIX_Stream_create(MPI_INFO_NULL, &made);
      if (error == MPI_SUCCESS) {
        EXPECT_NE(made, MPIX_STREAM_NULL);
        all.push_back(made);
      } else {
        EXPECT_EQ(made, MPIX_STREAM_NULL);
      }
    }
    ASSERT_EQ(all.size(), 64U - mpi::current_rank()->vcis.count());
    for (int round = 0; round < 3; ++round) {
      EXPECT_EQ(MPIX_Stream_free(&all[20]), MPI_SUCCESS);
      EXPECT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &all[20]), MPI_SUCCESS);
    }
    for (MPIX_Stream& each : all) EXPECT_EQ(MPIX_Stream_free(&each), MPI_SUCCESS);
  });
}

TEST(mpi_streams, run_their_hooks_in_progress_on_them_alone) {
  test::run_stream_ranks(1, [](numbers_of_rank) {
    const own_stream one, other;
    int calls = 0;
    hook_body body = [&](MPIX_Async_thing) { return ++calls == 5; };
    start_hook(body, one.handle());
    other.make_progress(200);
    for (int call = 0; call < 200; ++call) EXPECT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
    int number = 0, flag = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
    for (int call = 0; call < 200; ++call) EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(calls, 0);
    for (int expected = 1; expected <= 5; ++expected) {
      one.make_progress();
      EXPECT_EQ(calls, expected);
    }
    one.make_progress(3);
    EXPECT_EQ(calls, 5);
  });
}

TEST(mpi_streams, begin_a_spawned_hook_after_the_one_that_spawns_it) {
  test::run_stream_ranks(1, [](numbers_of_rank) {
    const own_stream one, other;
    std::vector<int> order;
    hook_body second = [&](MPIX_Async_thing) {
      order.push_back(2);
      return true;
    };
    hook_body third = [&](MPIX_Async_thing) {
      order.push_back(3);
      return true;
    };
    hook_body first = [&](MPIX_Async_thing thing) {
      EXPECT_EQ(MPIX_Async_spawn(thing, &call_body, &second, one.handle()), MPI_SUCCESS);
      EXPECT_EQ(MPIX_Async_spawn(thing, &call_body, &third, other.handle()), MPI_SUCCESS);
      one.make_progress();  // nothing happens
      order.push_back(1);
      return true;
    };
    start_hook(first, one.handle());
    one.make_progress(3);
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
    other.make_progress();
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  });
}

TEST(mpi_streams, are_driven_by_finalize_until_their_hooks_have_ended) {
  std::atomic<int> ended{0};
  std::array<hook_body, 2> bodies;  // outlive the ranks
  std::array<int, 2> calls{};
  test::run_stream_ranks(2, [&](numbers_of_rank mine) {
    MPIX_Stream stream = MPIX_STREAM_NULL;
    EXPECT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &stream), MPI_SUCCESS);
    const auto at = static_cast<std::size_t>(mine.rank);
    bodies[at] = [&ended, &calls, at](MPIX_Async_thing) {
      if (++calls[at] < 100) return false;
      ended.fetch_add(1, std::memory_order_relaxed);  // [stat]
      return true;
    };
    start_hook(bodies[at], stream);
  });
  EXPECT_EQ(ended.load(std::memory_order_relaxed), 2);  // [stat]
}

// Messages of all sizes in both directions, more than may be under way.
// Messages to the next rank.
// Each thread makes its stream at another time than the thread of that number at the peer.
TEST(mpi_streams, take_hooks_that_other_threads_start) {
  test::run_stream_ranks(1, [](numbers_of_rank) {
    const own_stream stream;
    constexpr int hooks = 200;
    int calls = 0;  // of the stream's thread alone
    hook_body body = [&](MPIX_Async_thing) {
      ++calls;
      return true;
    };
    test::run_threads_of_rank(2, [&](int thread) {
      if (thread == 0) {
        for (int hook = 0; hook < hooks; ++hook) start_hook(body, stream.handle());
      } else {
        while (calls < hooks) stream.make_progress();
      }
    });
    EXPECT_EQ(calls, hooks);
  });
}

TEST(mpi_streams, are_refused_where_they_are_wrong) {
  test::run_stream_ranks(1, [](numbers_of_rank) {
    EXPECT_EQ(MPIX_Stream_create(MPI_INFO_NULL, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Stream_free(nullptr), MPI_ERR_ARG);
    MPIX_Stream none = MPIX_STREAM_NULL;
    EXPECT_EQ(MPIX_Stream_free(&none), MPI_ERR_ARG);
    int number = 0;
    std::array<std::uint64_t, 8> memory{};
    MPIX_Stream wrong = reinterpret_cast<MPIX_Stream>(memory.data());
    MPI_Comm made = MPI_COMM_NULL;
    hook_body body = [](MPIX_Async_thing) { return true; };
    EXPECT_EQ(MPIX_Stream_free(&wrong), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Stream_progress(wrong), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Async_start(&call_body, &body, wrong), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Stream_comm_create(MPI_COMM_WORLD, wrong, &made), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Stream_comm_create(MPI_COMM_NULL, MPIX_STREAM_NULL, &made), MPI_ERR_COMM);
    EXPECT_EQ(MPIX_Stream_comm_create(MPI_COMM_WORLD, MPIX_STREAM_NULL, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(made, MPI_COMM_NULL);
    EXPECT_EQ(MPIX_Comm_get_stream(MPI_COMM_WORLD, 1, &none), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Comm_get_stream(MPI_COMM_WORLD, -1, &none), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Comm_get_stream(MPI_COMM_WORLD, 0, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(MPIX_Comm_get_stream(MPI_COMM_WORLD, 0, &none), MPI_SUCCESS);
    EXPECT_EQ(none, MPIX_STREAM_NULL);
    MPIX_Stream stream = MPIX_STREAM_NULL;
    EXPECT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &stream), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Stop_progress_thread(stream), MPI_ERR_OTHER);
    EXPECT_EQ(MPIX_Start_progress_thread(stream), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Start_progress_thread(stream), MPI_ERR_OTHER);
    EXPECT_EQ(MPIX_Stream_free(&stream), MPI_ERR_OTHER);
    EXPECT_EQ(MPIX_Stop_progress_thread(stream), MPI_SUCCESS);
    // With hooks, with a communicator, with operations of a freed one.
    hook_body refused = [&](MPIX_Async_thing) {
      MPIX_Stream inside = MPIX_STREAM_NULL, same = stream;
      EXPECT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &inside), MPI_ERR_OTHER);
      EXPECT_EQ(MPIX_Stream_free(&same), MPI_ERR_OTHER);
      EXPECT_EQ(MPIX_Stream_comm_create(MPI_COMM_SELF, stream, &made), MPI_ERR_OTHER);
      return true;
    };
    start_hook(refused, stream);
    EXPECT_EQ(MPIX_Stream_free(&stream), MPI_ERR_OTHER);
    EXPECT_EQ(MPIX_Stream_progress(stream), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Stream_comm_create(MPI_COMM_SELF, stream, &made), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Stream_free(&stream), MPI_ERR_OTHER);
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, 0, 0, made, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_free(&made), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Stream_free(&stream), MPI_ERR_OTHER);
    EXPECT_NE(stream, MPIX_STREAM_NULL);
    EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Stream_free(&stream), MPI_SUCCESS);
    EXPECT_EQ(stream, MPIX_STREAM_NULL);
  });
  test::run_ranks(
      1,
      [](numbers_of_rank) {
        MPIX_Stream stream = MPIX_STREAM_NULL;
        EXPECT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &stream), MPI_ERR_OTHER);
        EXPECT_EQ(stream, MPIX_STREAM_NULL);
      },
      {}, MPI_THREAD_SERIALIZED);
}

// The stream's thread computes, as it were, until its message is there and a hook has run.
TEST(mpi_streams, make_progress_by_a_thread_of_their_own_until_it_is_stopped) {
  test::run_stream_ranks(2, [](numbers_of_rank mine) {
    const own_stream stream;
    const test::stream_comm comm{stream.handle()};
    for (int round = 0; round < 3; ++round) {
      std::atomic<bool> has_ended{false};
      int got = -1;
      MPI_Request request = MPI_REQUEST_NULL;
      EXPECT_EQ(MPI_Irecv(&got, 1, MPI_INT, 1 - mine.rank, round, comm.handle(), &request), MPI_SUCCESS);
      hook_body body = [&](MPIX_Async_thing) {
        // [streams_test.end] release -> [streams_test.see]: nothing else.
        has_ended.store(true, std::memory_order_release);
        return true;
      };
      EXPECT_EQ(MPIX_Start_progress_thread(stream.handle()), MPI_SUCCESS);
      start_hook(body, stream.handle());
      EXPECT_EQ(MPI_Send(&round, 1, MPI_INT, 1 - mine.rank, round, comm.handle()), MPI_SUCCESS);
      // [streams_test.see] acquire <- [streams_test.end]: nothing else.
      EXPECT_TRUE(test::eventually([&] { return has_ended.load(std::memory_order_acquire); }));
      EXPECT_TRUE(test::eventually([&] { return MPIX_Request_is_complete(request) != 0; }));
      for (int each = 0; each < 200; ++each) {
        int other = -1;
        EXPECT_EQ(MPI_Sendrecv(&each, 1, MPI_INT, 1 - mine.rank, 9, &other, 1, MPI_INT, 1 - mine.rank, 9, comm.handle(),
                               MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
        EXPECT_EQ(other, each);
      }
      EXPECT_EQ(MPIX_Stop_progress_thread(stream.handle()), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(got, round);
      stream.make_progress(20);
    }
  });
}

// A program that leaves a stream with a communicator and requests to MPI_Finalize.
TEST(mpi_streams, are_ended_by_finalize) {
  test::run_stream_ranks(2, [](numbers_of_rank mine) {
    MPIX_Stream stream = MPIX_STREAM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    EXPECT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &stream), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm), MPI_SUCCESS);
    if (mine.rank == 1) {
      EXPECT_EQ(MPIX_Start_progress_thread(stream), MPI_SUCCESS);
    }
    std::vector<int> values(50'000, mine.rank);
    MPI_Request request = MPI_REQUEST_NULL;
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Isend(values.data(), 50'000, MPI_INT, 1, 0, comm, &request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    } else {
      EXPECT_EQ(MPI_Recv(values.data(), 50'000, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    }
  });
}

}  // namespace
}  // namespace weft
