// SPDX-License-Identifier: BSD-3-Clause
// How threads wait by loops of tests and probes that find nothing (MPI_Test and MPI_Iprobe), and how they sleep in
// calls that wait. Yields and calls of progress are counted; no test looks at the time that something takes.
#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "mpi/ranks.hpp"
#include "support/between_threads.hpp"
#include "support/counted_yields.hpp"
#include "support/waiting.hpp"
#include "weft/fiber.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;
using test::run_threads_of_rank;
using test::yields_of_this_thread;

// A test of one open request, or a probe. Returns the flag, or the number of requests that are done.
struct test_call {
  const char* name;
  int (*call)(MPI_Request& request);
};

constexpr int tag_of_nothing = 77;

constexpr std::array<test_call, 10> test_calls{{
    {"MPI_Test",
     [](MPI_Request& request) {
       int flag = -1;
       EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
       return flag;
     }},
    {"MPI_Testall",
     [](MPI_Request& request) {
       int flag = -1;
       EXPECT_EQ(MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
       return flag;
     }},
    {"MPI_Testany",
     [](MPI_Request& request) {
       int flag = -1, index = -1;
       EXPECT_EQ(MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
       return flag;
     }},
    {"MPI_Testsome",
     [](MPI_Request& request) {
       int count = -1, index = -1;
       EXPECT_EQ(MPI_Testsome(1, &request, &count, &index, MPI_STATUSES_IGNORE), MPI_SUCCESS);
       return count;
     }},
    {"MPI_Request_get_status",
     [](MPI_Request& request) {
       int flag = -1;
       EXPECT_EQ(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
       return flag;
     }},
    {"MPI_Request_get_status_all",
     [](MPI_Request& request) {
       int flag = -1;
       EXPECT_EQ(MPI_Request_get_status_all(1, &request, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
       return flag;
     }},
    {"MPI_Request_get_status_any",
     [](MPI_Request& request) {
       int flag = -1, index = -1;
       EXPECT_EQ(MPI_Request_get_status_any(1, &request, &index, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
       return flag;
     }},
    {"MPI_Request_get_status_some",
     [](MPI_Request& request) {
       int count = -1, index = -1;
       EXPECT_EQ(MPI_Request_get_status_some(1, &request, &count, &index, MPI_STATUSES_IGNORE), MPI_SUCCESS);
       return count;
     }},
    {"MPI_Iprobe",
     [](MPI_Request&) {
       int flag = -1;
       EXPECT_EQ(MPI_Iprobe(MPI_ANY_SOURCE, tag_of_nothing, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
       return flag;
     }},
    {"MPI_Improbe",
     [](MPI_Request&) {
       int flag = -1;
       MPI_Message message = MPI_MESSAGE_NULL;
       EXPECT_EQ(MPI_Improbe(MPI_ANY_SOURCE, tag_of_nothing, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE),
                 MPI_SUCCESS);
       return flag;
     }},
}};

// How often the calling thread yields in so many tests that find nothing.
std::uint64_t yields_of_tests(const test_call& test, MPI_Request& request, int count) {
  const std::uint64_t before = yields_of_this_thread();
  for (int each = 0; each < count; ++each) EXPECT_EQ(test.call(request), 0) << test.name;
  return yields_of_this_thread() - before;
}

MPI_Request receive_from_self(int& into, int tag) {
  MPI_Request out = MPI_REQUEST_NULL;
  EXPECT_EQ(MPI_Irecv(&into, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &out), MPI_SUCCESS);
  return out;
}
void send_to_self(int tag) { EXPECT_EQ(MPI_Send(&tag, 1, MPI_INT, 0, tag, MPI_COMM_SELF), MPI_SUCCESS); }

void end_by_message(MPI_Request& request, int tag) {
  send_to_self(tag);
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

// Where no other rank shares the processors, tests yield after 256 that find nothing, then after 64.
constexpr int few = 200;
constexpr int many = 1000;
constexpr std::uint64_t yields_of_many = 1 + (many - 256) / 64;

TEST(mpi_polling, each_kind_of_test_that_finds_nothing_yields) {
  for (const std::uint32_t ranks : {1, 2}) {
    run_ranks(ranks, [](numbers_of_rank mine) {
      if (mine.rank == 0) {
        int into = 0;
        MPI_Request request = receive_from_self(into, 1);
        for (const test_call& test : test_calls)
          EXPECT_GE(yields_of_tests(test, request, many), yields_of_many - 4) << test.name;
        end_by_message(request, 1);
      }
      EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    });
  }
}

TEST(mpi_polling, tests_of_requests_of_other_kinds_yield) {
  run_ranks(2, [](numbers_of_rank mine) {
    if (mine.rank == 0) {
      int into = 0;
      std::array<MPI_Request, 3> requests{};
      EXPECT_EQ(MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
      EXPECT_EQ(MPI_Recv_init(&into, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[1]), MPI_SUCCESS);
      EXPECT_EQ(MPI_Start(&requests[1]), MPI_SUCCESS);
      EXPECT_EQ(MPI_Grequest_start([](void*, MPI_Status*) { return MPI_SUCCESS; }, [](void*) { return MPI_SUCCESS; },
                                   [](void*, int) { return MPI_SUCCESS; }, nullptr, &requests[2]),
                MPI_SUCCESS);
      for (MPI_Request& request : requests)
        EXPECT_GE(yields_of_tests(test_calls[0], request, many), yields_of_many - 4);
      const std::uint64_t before = yields_of_this_thread();
      for (int each = 0; each < many; ++each) {
        int flag = -1;
        EXPECT_EQ(MPI_Testall(3, requests.data(), &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(flag, 0);
      }
      EXPECT_GE(yields_of_this_thread() - before, yields_of_many - 4);
      EXPECT_EQ(MPI_Grequest_complete(requests[2]), MPI_SUCCESS);
      send_to_self(3);
      EXPECT_EQ(MPI_Send(&into, 0, MPI_INT, 1, 4, MPI_COMM_WORLD), MPI_SUCCESS);
      EXPECT_EQ(MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_Request_free(&requests[1]), MPI_SUCCESS);
    } else {
      EXPECT_EQ(MPI_Recv(nullptr, 0, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    }
  });
}

// Different tests, and calls that do not communicate, are looks of one wait.
TEST(mpi_polling, tests_of_one_wait_may_differ) {
  run_ranks(1, [](numbers_of_rank) {
    int into = 0;
    MPI_Request request = receive_from_self(into, 1);
    const std::uint64_t before = yields_of_this_thread();
    for (int round = 0; round < many; ++round) {
      const auto kind = static_cast<std::size_t>(round) % test_calls.size();
      EXPECT_EQ(test_calls[kind].call(request), 0);
      EXPECT_GT(MPI_Wtime(), 0);
      int size = 0;
      EXPECT_EQ(MPI_Comm_size(MPI_COMM_WORLD, &size), MPI_SUCCESS);
    }
    EXPECT_EQ(yields_of_this_thread() - before, yields_of_many);
    end_by_message(request, 1);
  });
}

TEST(mpi_polling, a_test_that_finds_something_ends_the_wait) {
  run_ranks(1, [](numbers_of_rank) {
    for (const test_call& test : test_calls) {
      int into = 0, found = 0;
      MPI_Request request = receive_from_self(into, 1);
      std::uint64_t yields = 0;
      for (int wait = 0; wait < 20; ++wait) {
        yields += yields_of_tests(test, request, few);
        if (test.name == test_calls[8].name || test.name == test_calls[9].name) {
          send_to_self(2);
          EXPECT_EQ(MPI_Iprobe(0, 2, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE), MPI_SUCCESS);
          EXPECT_EQ(found, 1);
          EXPECT_EQ(MPI_Recv(&into, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_SUCCESS);
        } else {
          MPI_Request null = MPI_REQUEST_NULL;
          EXPECT_EQ(MPI_Test(&null, &found, MPI_STATUS_IGNORE), MPI_SUCCESS);
          EXPECT_EQ(found, 1);
        }
      }
      EXPECT_EQ(yields, 0U) << test.name;
      end_by_message(request, 1);
    }
  });
}

TEST(mpi_polling, a_call_that_communicates_ends_the_wait) {
  run_ranks(1, [](numbers_of_rank) {
    int into = 0, other = 0;
    MPI_Request request = receive_from_self(into, 1), persistent = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Send_init(&other, 1, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_SELF, &persistent), MPI_SUCCESS);
    const std::vector<std::function<void()>> calls{
        [] { send_to_self(2); },
        [&] { EXPECT_EQ(MPI_Recv(&other, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_SUCCESS); },
        [&] { EXPECT_EQ(MPI_Barrier(MPI_COMM_SELF), MPI_SUCCESS); },
        [&] { EXPECT_EQ(MPI_Start(&persistent), MPI_SUCCESS); },
        [&] { EXPECT_EQ(MPI_Wait(&persistent, MPI_STATUS_IGNORE), MPI_SUCCESS); },
    };
    std::uint64_t yields = 0;
    for (int wait = 0; wait < 20; ++wait) {
      for (const auto& call : calls) {
        yields += yields_of_tests(test_calls[0], request, few);
        call();
      }
    }
    EXPECT_EQ(yields, 0U);
    EXPECT_EQ(MPI_Request_free(&persistent), MPI_SUCCESS);
    end_by_message(request, 1);
  });
}

TEST(mpi_polling, ranks_and_their_threads_exchange_messages_by_tests) {
  constexpr int threads = 4;
  run_ranks(
      2,
      [](numbers_of_rank mine) {
        run_threads_of_rank(threads, [&](int thread) {
          int number = 0;
          for (int round = 0; round < 20; ++round) {
            MPI_Request request = MPI_REQUEST_NULL;
            EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, 1 - mine.rank, thread, MPI_COMM_WORLD, &request), MPI_SUCCESS);
            if (mine.rank == round % 2) {
              EXPECT_EQ(MPI_Send(&round, 1, MPI_INT, 1 - mine.rank, thread, MPI_COMM_WORLD), MPI_SUCCESS);
            }
            const test_call& test = test_calls[static_cast<std::size_t>(thread)];
            while (test.call(request) == 0) {
            }
            EXPECT_EQ(number, round);
            if (mine.rank != round % 2) {
              EXPECT_EQ(MPI_Send(&round, 1, MPI_INT, 1 - mine.rank, thread, MPI_COMM_WORLD), MPI_SUCCESS);
            }
          }
        });
      },
      {}, MPI_THREAD_MULTIPLE);
}

// Two fibers of one worker: one tests for the message that the other one sends.
TEST(mpi_polling, a_fiber_that_tests_again_and_again_lets_others_run) {
  run_ranks(
      1,
      [](numbers_of_rank) {
        mpi::rank_slot& slot = mpi::current_slot();
        fiber_scheduler fibers{{.workers = 1}};
        test::flag are_both_there;
        bool has_sent = false;
        fiber tests = fibers.spawn([&] {
          mpi::be_thread_of(&slot);
          EXPECT_TRUE(test::eventually([&] { return are_both_there.is_raised(); }));
          int into = 0;
          MPI_Request request = receive_from_self(into, 3);
          // It may hold a lock of its thread, which the other fiber would wait for.
          for (int each = 0; each < 30; ++each) EXPECT_EQ(test_calls[0].call(request), 0);
          EXPECT_FALSE(has_sent);
          constexpr int most = 1'000'000;
          int left = most;
          while (left != 0 && test_calls[0].call(request) == 0) --left;
          EXPECT_TRUE(has_sent);
          if (left == 0) end_by_message(request, 3);
        });
        fiber sends = fibers.spawn([&] {
          mpi::be_thread_of(&slot);
          has_sent = true;
          send_to_self(3);
        });
        are_both_there.raise();
        tests.join();
        sends.join();
      },
      {}, MPI_THREAD_MULTIPLE);
}

// Whether the threads of a device begin to sleep: in a tenth of a second they look 50 times at most if each sleep ends
// after 2 ms. A thread that polls looks some 10^6 times, and often enough where it gets the core for a millisecond
// alone.
bool is_left_alone(const device& dev, std::uint64_t looks_max = 500) {
  for (int each = 0; each < 100; ++each) {
    const std::uint64_t before = dev.counters().progress.calls;
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    if (dev.counters().progress.calls - before < looks_max) return true;
  }
  return false;
}

TEST(mpi_polling, a_thread_that_waits_for_a_message_by_a_probe_sleeps) {
  for (const int level : {MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE}) {
    for (const bool is_matched : {false, true}) {
      test::published<device*> device_of_0;
      run_ranks(
          2,
          [&](numbers_of_rank mine) {
            int number = 0;
            if (mine.rank == 1) {
              EXPECT_TRUE(test::eventually([&] { return device_of_0.value() != nullptr; }));
              EXPECT_TRUE(is_left_alone(*device_of_0.value()));
              EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, 0, 8, MPI_COMM_WORLD), MPI_SUCCESS);
              return;
            }
            device_of_0.publish(&mpi::current_rank()->device);
            MPI_Message message = MPI_MESSAGE_NULL;
            if (is_matched) {
              EXPECT_EQ(MPI_Mprobe(1, 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
              EXPECT_EQ(MPI_Mrecv(&number, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
            } else {
              EXPECT_EQ(MPI_Probe(1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
              EXPECT_EQ(MPI_Recv(&number, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
            }
          },
          {}, level);
    }
  }
}

// Another thread of the rank receives the messages for which one probes, and locks their bucket.
TEST(mpi_polling, a_thread_that_probes_sees_what_other_threads_receive) {
  run_ranks(
      2,
      [](numbers_of_rank mine) {
        constexpr int rounds = 200;
        if (mine.rank == 1) {
          for (int round = 0; round < rounds; ++round) {
            EXPECT_EQ(MPI_Send(&round, 1, MPI_INT, 0, 8, MPI_COMM_WORLD), MPI_SUCCESS);
            EXPECT_EQ(MPI_Recv(nullptr, 0, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
          }
          return;
        }
        test::flag is_over;
        run_threads_of_rank(2, [&](int thread) {
          int number = -1, flag = 0;
          if (thread == 1) {
            while (!is_over.is_raised())
              EXPECT_EQ(MPI_Iprobe(1, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
            return;
          }
          for (int round = 0; round < rounds; ++round) {
            MPI_Message message = MPI_MESSAGE_NULL;
            EXPECT_EQ(MPI_Mprobe(1, 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(MPI_Mrecv(&number, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(number, round);
            EXPECT_EQ(MPI_Send(nullptr, 0, MPI_INT, 1, 9, MPI_COMM_WORLD), MPI_SUCCESS);
          }
          is_over.raise();
        });
      },
      {}, MPI_THREAD_MULTIPLE);
}

TEST(mpi_polling, a_rank_that_finalizes_sleeps_until_freed_sends_are_matched) {
  for (const int level : {MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE}) {
    test::published<device*> device_of_0;
    std::vector<int> sent(1 << 18, 5), received(1 << 18);
    const auto count = static_cast<int>(sent.size());
    run_ranks(
        2,
        [&](numbers_of_rank mine) {
          if (mine.rank == 0) {
            MPI_Request request = MPI_REQUEST_NULL;
            EXPECT_EQ(MPI_Isend(sent.data(), count, MPI_INT, 1, 8, MPI_COMM_WORLD, &request), MPI_SUCCESS);
            EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
            device_of_0.publish(&mpi::current_rank()->device);
            return;  // to MPI_Finalize
          }
          EXPECT_TRUE(test::eventually([&] { return device_of_0.value() != nullptr; }));
          // The barrier, which ranks repeat ten times a second, polls and yields before it sleeps.
          EXPECT_TRUE(is_left_alone(*device_of_0.value(), 50'000));
          EXPECT_EQ(MPI_Recv(received.data(), count, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
          EXPECT_EQ(received, sent);
        },
        {}, level);
  }
}

}  // namespace
}  // namespace weft
