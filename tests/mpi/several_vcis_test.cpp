// SPDX-License-Identifier: BSD-3-Clause
// Threads that wait for requests of several communicators, whose VCIs may differ: a message for any of them wakes the
// thread. Run once more with several VCIs, without global progress.
#include <sched.h>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "mpi/ranks.hpp"
#include "net/ring/sleep_word.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;

constexpr int comm_count = 4, long_count = 20'000;

// Communicators that follow each other, so that each has another VCI where there are as many.
class communicators {
 public:
  communicators() {
    for (MPI_Comm& each : all_) EXPECT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &each), MPI_SUCCESS);
  }
  ~communicators() {
    for (MPI_Comm& each : all_) EXPECT_EQ(MPI_Comm_free(&each), MPI_SUCCESS);
  }
  communicators(const communicators&) = delete;
  communicators& operator=(const communicators&) = delete;
  [[nodiscard]] MPI_Comm operator[](int index) const { return all_.at(static_cast<std::size_t>(index)); }

 private:
  std::array<MPI_Comm, comm_count> all_{};
};

enum class completion_call : std::uint8_t { for_all, for_any, for_some };

// Completes all of these.
void complete(std::vector<MPI_Request>& all, completion_call call) {
  const int count = static_cast<int>(all.size());
  if (call == completion_call::for_all) {
    EXPECT_EQ(MPI_Waitall(count, all.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    return;
  }
  std::vector<int> indices(all.size());
  for (int left = count; left > 0;) {
    int done = 1;
    if (call == completion_call::for_any) {
      EXPECT_EQ(MPI_Waitany(count, all.data(), indices.data(), MPI_STATUS_IGNORE), MPI_SUCCESS);
    } else {
      EXPECT_EQ(MPI_Waitsome(count, all.data(), &done, indices.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    }
    EXPECT_GT(done, 0);
    if (done <= 0) return;
    left -= done;
  }
}

// A message in each communicator, there and back. Each thread has a tag of its own.
void exchange(const communicators& comms, int peer, int tag, int round) {
  const int count = round % 7 == 6 ? long_count : 1;
  std::array<std::vector<int>, comm_count> sent, received;
  std::vector<MPI_Request> all;
  for (int index = 0; index < comm_count; ++index) {
    auto& into = received.at(static_cast<std::size_t>(index));
    into.assign(long_count, -1);
    EXPECT_EQ(MPI_Irecv(into.data(), long_count, MPI_INT, peer, tag, comms[index], &all.emplace_back()), MPI_SUCCESS);
  }
  for (int index = 0; index < comm_count; ++index) {
    auto& from = sent.at(static_cast<std::size_t>(index));
    from.assign(static_cast<std::size_t>(count), 1000 * tag + 10 * round + index);
    EXPECT_EQ(MPI_Isend(from.data(), count, MPI_INT, peer, tag, comms[index], &all.emplace_back()), MPI_SUCCESS);
  }
  complete(all, static_cast<completion_call>(round % 3));
  for (int index = 0; index < comm_count; ++index) {
    const auto& got = received.at(static_cast<std::size_t>(index));
    EXPECT_EQ(got.at(static_cast<std::size_t>(count - 1)), 1000 * tag + 10 * round + index);
  }
}

TEST(mpi_several_vcis, threads_wait_for_requests_of_all_of_them) {
  test::run_ranks(
      2,
      [](numbers_of_rank mine) {
        const communicators comms;
        test::run_threads_of_rank(3, [&](int thread) {
          for (int round = 0; round < 60; ++round) exchange(comms, 1 - mine.rank, thread, round);
        });
        MPI_Barrier(MPI_COMM_WORLD);
      },
      {}, MPI_THREAD_MULTIPLE);
}

// Rank 1 sends later and later, without a wait of its own, until rank 0 has to be woken.
void expect_sleep(completion_call call) {
  test::tally<> waiting, woken;
  test::run_ranks(
      2,
      [&](numbers_of_rank mine) {
        constexpr int rounds_max = 20;
        const communicators comms;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int round = 0; round < rounds_max && woken.value() == 0; ++round) {
          const auto number = static_cast<std::uint64_t>(round);
          if (mine.rank == 0) {
            std::array<int, comm_count> got{};
            std::vector<MPI_Request> all(comm_count, MPI_REQUEST_NULL);
            for (int index = 0; index < comm_count; ++index) {
              const auto at = static_cast<std::size_t>(index);
              EXPECT_EQ(MPI_Irecv(&got.at(at), 1, MPI_INT, 1, 5, comms[index], &all.at(at)), MPI_SUCCESS);
            }
            waiting.add();
            complete(all, call);
            EXPECT_EQ(MPI_Recv(nullptr, 0, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(got, (std::array<int, comm_count>{0, 1, 2, 3}));
          } else {
            while (waiting.value() <= number) ::sched_yield();
            const std::uint64_t before = net::wake_up_count();
            for (int index = comm_count - 1; index >= 0; --index) {
              for (int yields = 0; yields < 64 << std::min(round, 14); ++yields) ::sched_yield();
              EXPECT_EQ(MPI_Send(&index, 1, MPI_INT, 0, 5, comms[index]), MPI_SUCCESS);
            }
            const std::uint64_t after = net::wake_up_count();
            EXPECT_EQ(MPI_Ssend(nullptr, 0, MPI_INT, 0, 6, MPI_COMM_WORLD), MPI_SUCCESS);
            if (after != before) woken.add();
          }
          MPI_Barrier(MPI_COMM_WORLD);
        }
        EXPECT_TRUE(woken.value() != 0 || !test::messages_wake_sleepers()) << "it has not slept";
      },
      {}, MPI_THREAD_MULTIPLE);
}

TEST(mpi_several_vcis, a_thread_in_waitall_sleeps) { expect_sleep(completion_call::for_all); }
TEST(mpi_several_vcis, a_thread_in_waitany_sleeps) { expect_sleep(completion_call::for_any); }
TEST(mpi_several_vcis, a_thread_in_waitsome_sleeps) { expect_sleep(completion_call::for_some); }

}  // namespace
}  // namespace weft
