// SPDX-License-Identifier: BSD-3-Clause
// Multiplex communicators: messages from any stream of a rank to any stream of another one.
#include <array>
#include <cstdint>
#include <vector>

#include "mpi/streams.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;

// Streams and their communicator. Rank r has r % 3 + 1 streams, the last one of each rank but the first is the default
// one; before them it makes streams that no thread polls.
class multiplex {
 public:
  explicit multiplex(int rank, int count) : idle_(static_cast<std::size_t>(rank)) {
    for (MPIX_Stream& each : idle_) EXPECT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &each), MPI_SUCCESS);
    for (int index = 0; index < count; ++index) {
      MPIX_Stream made = MPIX_STREAM_NULL;
      if (rank == 0 || index + 1 < count) {
        EXPECT_EQ(MPIX_Stream_create(MPI_INFO_NULL, &made), MPI_SUCCESS);
      }
      streams_.push_back(made);
    }
    EXPECT_EQ(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, count, streams_.data(), &comm_), MPI_SUCCESS);
  }
  ~multiplex() {
    free_communicator();
    for (std::vector<MPIX_Stream>* const all : {&streams_, &idle_}) {
      for (MPIX_Stream& each : *all) {
        if (each != MPIX_STREAM_NULL) {
          EXPECT_EQ(MPIX_Stream_free(&each), MPI_SUCCESS);
        }
      }
    }
  }
  multiplex(const multiplex&) = delete;
  multiplex& operator=(const multiplex&) = delete;

  void free_communicator() {
    if (comm_ != MPI_COMM_NULL) {
      EXPECT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS);
    }
  }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] MPIX_Stream stream(int index) const { return streams_.at(static_cast<std::size_t>(index)); }

 private:
  std::vector<MPIX_Stream> idle_, streams_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

int streams_of(int rank) { return rank % 3 + 1; }

TEST(mpi_stream_messages, go_from_each_stream_to_each_other_one) {
  test::run_ranks(
      3,
      [](numbers_of_rank mine) {
        const multiplex all{mine.rank, streams_of(mine.rank)};
        for (int index = 0; index < streams_of(mine.rank); ++index) {
          MPIX_Stream found = nullptr;
          EXPECT_EQ(MPIX_Comm_get_stream(all.comm(), index, &found), MPI_SUCCESS);
          EXPECT_EQ(found, all.stream(index));
        }
        std::vector<MPI_Request> requests;
        std::vector<std::vector<int>> received, sent;
        const auto size_of = [](int source, int destination) { return source == destination ? 30'000 : 3; };
        for (int peer = 0; peer < mine.size; ++peer) {
          for (int own = 0; own < streams_of(mine.rank); ++own) {
            for (int other = 0; other < streams_of(peer); ++other) {
              auto& into = received.emplace_back(static_cast<std::size_t>(size_of(other, own)), -1);
              EXPECT_EQ(MPIX_Stream_irecv(into.data(), size_of(other, own), MPI_INT, peer, other, all.comm(), other,
                                          own, &requests.emplace_back()),
                        MPI_SUCCESS);
              auto& from =
                  sent.emplace_back(static_cast<std::size_t>(size_of(own, other)), 100 * mine.rank + 10 * own + other);
              EXPECT_EQ(MPIX_Stream_isend(from.data(), size_of(own, other), MPI_INT, peer, own, all.comm(), own, other,
                                          &requests.emplace_back()),
                        MPI_SUCCESS);
            }
          }
        }
        EXPECT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        std::size_t next = 0;
        for (int peer = 0; peer < mine.size; ++peer) {
          for (int own = 0; own < streams_of(mine.rank); ++own) {
            for (int other = 0; other < streams_of(peer); ++other) {
              EXPECT_EQ(received[next++].back(), 100 * peer + 10 * other + own);
            }
          }
        }
        int sum = 0;
        EXPECT_EQ(MPI_Allreduce(&mine.rank, &sum, 1, MPI_INT, MPI_SUM, all.comm()), MPI_SUCCESS);
        EXPECT_EQ(sum, 3);
        MPI_Comm duplicate = MPI_COMM_NULL;
        EXPECT_EQ(MPI_Comm_dup(all.comm(), &duplicate), MPI_SUCCESS);
        int got = -1;
        const int next_rank = (mine.rank + 1) % 3, before = (mine.rank + 2) % 3;
        for (const MPI_Comm each : {duplicate, all.comm()}) {
          EXPECT_EQ(
              MPI_Sendrecv(&mine.rank, 1, MPI_INT, next_rank, 0, &got, 1, MPI_INT, before, 0, each, MPI_STATUS_IGNORE),
              MPI_SUCCESS);
          EXPECT_EQ(got, before);
        }
        EXPECT_EQ(MPI_Comm_free(&duplicate), MPI_SUCCESS);
      },
      {}, MPI_THREAD_MULTIPLE);
}

// Each thread sends to all streams of the peer, more than may be under way, and receives of any source.
TEST(mpi_stream_messages, are_sent_by_threads_each_with_its_stream) {
  test::run_ranks(
      2,
      [](numbers_of_rank mine) {
        constexpr int threads = 3, rounds = 1500;
        const multiplex all{mine.rank, threads};
        const int peer = 1 - mine.rank;
        test::run_threads_of_rank(threads, [&](int own) {
          std::array<int, threads> next{};
          std::vector<std::array<int, threads>> sent(rounds), received(rounds);
          std::vector<MPI_Request> requests;
          for (int round = 0; round < rounds; ++round) {
            for (int other = 0; other < threads; ++other) {
              auto& into = received[static_cast<std::size_t>(round)][static_cast<std::size_t>(other)];
              auto& from = sent[static_cast<std::size_t>(round)][static_cast<std::size_t>(other)];
              from = 10 * round + own;
              const int source = round % 2 == 0 ? peer : MPI_ANY_SOURCE;
              EXPECT_EQ(
                  MPIX_Stream_irecv(&into, 1, MPI_INT, source, 0, all.comm(), other, own, &requests.emplace_back()),
                  MPI_SUCCESS);
              EXPECT_EQ(MPIX_Stream_isend(&from, 1, MPI_INT, peer, 0, all.comm(), own, other, &requests.emplace_back()),
                        MPI_SUCCESS);
            }
          }
          EXPECT_EQ(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
          // Messages of one stream are in their order.
          for (const auto& each : received) {
            for (const int value : each) {
              int& expected = next[static_cast<std::size_t>(value % 10)];
              EXPECT_EQ(value / 10, expected++);
            }
          }
          for (const int each : next) EXPECT_EQ(each, rounds);
          if (all.stream(own) != MPIX_STREAM_NULL) {
            EXPECT_GE(test::arrivals_at(all.stream(own)), std::uint64_t{threads} * rounds);
          }
        });
        EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
      },
      {}, MPI_THREAD_MULTIPLE);
}

TEST(mpi_stream_messages, that_block_go_there_and_back) {
  test::run_ranks(
      2,
      [](numbers_of_rank mine) {
        const multiplex all{mine.rank, 2};
        test::run_threads_of_rank(2, [&](int own) {
          for (int round = 0; round < 200; ++round) {
            const int other = 1 - own;
            int value = round;
            MPI_Status status;
            if (mine.rank == 0) {
              EXPECT_EQ(MPIX_Stream_send(&value, 1, MPI_INT, 1, 5, all.comm(), own, other), MPI_SUCCESS);
            }
            EXPECT_EQ(MPIX_Stream_recv(&value, 1, MPI_INT, 1 - mine.rank, 5, all.comm(), other, own, &status),
                      MPI_SUCCESS);
            EXPECT_EQ(status.MPI_SOURCE, 1 - mine.rank);
            EXPECT_EQ(value, round);
            if (mine.rank == 1) {
              EXPECT_EQ(MPIX_Stream_send(&value, 1, MPI_INT, 0, 5, all.comm(), own, other), MPI_SUCCESS);
            }
          }
        });
        EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
      },
      {}, MPI_THREAD_MULTIPLE);
}

// Sends that wait for room when the communicator's handle is freed.
TEST(mpi_stream_messages, are_sent_also_after_their_communicator_is_freed) {
  test::run_ranks(
      2,
      [](numbers_of_rank mine) {
        multiplex all{mine.rank, 2};
        constexpr int count = 6000;
        std::vector<int> values(count);
        std::vector<MPI_Request> requests(count);
        for (int each = 0; each < count; ++each) {
          const auto at = static_cast<std::size_t>(each);
          values[at] = mine.rank == 0 ? each : -1;
          if (mine.rank == 0) {
            EXPECT_EQ(MPIX_Stream_isend(&values[at], 1, MPI_INT, 1, 0, all.comm(), 1, 0, &requests[at]), MPI_SUCCESS);
          } else {
            EXPECT_EQ(MPIX_Stream_irecv(&values[at], 1, MPI_INT, 0, 0, all.comm(), 1, 0, &requests[at]), MPI_SUCCESS);
          }
        }
        all.free_communicator();
        EXPECT_EQ(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        for (int each = 0; each < count; ++each) EXPECT_EQ(values[static_cast<std::size_t>(each)], each);
      },
      {}, MPI_THREAD_MULTIPLE);
}

TEST(mpi_stream_messages, with_wrong_indices_are_refused) {
  test::run_ranks(
      2,
      [](numbers_of_rank mine) {
        const multiplex all{mine.rank, mine.rank + 1};
        const int peer = 1 - mine.rank;
        int value = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        const auto expect_refused = [&](int source, int destination) {
          EXPECT_EQ(MPIX_Stream_send(&value, 1, MPI_INT, peer, 0, all.comm(), source, destination), MPI_ERR_ARG);
          EXPECT_EQ(MPIX_Stream_isend(&value, 1, MPI_INT, peer, 0, all.comm(), source, destination, &request),
                    MPI_ERR_ARG);
          EXPECT_EQ(MPIX_Stream_recv(&value, 1, MPI_INT, peer, 0, all.comm(), destination, source, MPI_STATUS_IGNORE),
                    MPI_ERR_ARG);
          EXPECT_EQ(MPIX_Stream_irecv(&value, 1, MPI_INT, peer, 0, all.comm(), destination, source, &request),
                    MPI_ERR_ARG);
        };
        expect_refused(-1, 0);
        expect_refused(0, -1);
        expect_refused(mine.rank + 1, 0);
        expect_refused(0, peer + 1);
        EXPECT_EQ(request, MPI_REQUEST_NULL);
        EXPECT_EQ(MPIX_Stream_send(&value, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, 0, 1), MPI_ERR_ARG);
        EXPECT_EQ(MPIX_Stream_send(&value, -1, MPI_INT, peer, 0, all.comm(), 0, 0), MPI_ERR_COUNT);
        EXPECT_EQ(MPIX_Stream_send(&value, 1, MPI_INT, 2, 0, all.comm(), 0, 0), MPI_ERR_RANK);
        EXPECT_EQ(MPIX_Stream_send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, all.comm(), 0, 7), MPI_SUCCESS);
        MPI_Status status;
        EXPECT_EQ(MPIX_Stream_recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, all.comm(), 7, 0, &status), MPI_SUCCESS);
        EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
        // In a communicator of one stream.
        EXPECT_EQ(MPIX_Stream_isend(&mine.rank, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, 0, 0, &request), MPI_SUCCESS);
        EXPECT_EQ(MPIX_Stream_recv(&value, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, 0, 0, &status), MPI_SUCCESS);
        EXPECT_EQ(value, peer);
        EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        MPI_Comm made = MPI_COMM_NULL;
        MPIX_Stream none = MPIX_STREAM_NULL;
        EXPECT_EQ(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, 0, &none, &made), MPI_ERR_COUNT);
        EXPECT_EQ(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, -1, &none, &made), MPI_ERR_COUNT);
        EXPECT_EQ(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, 1, nullptr, &made), MPI_ERR_ARG);
        EXPECT_EQ(MPIX_Stream_comm_create_multiplex(MPI_COMM_WORLD, 1, &none, nullptr), MPI_ERR_ARG);
        EXPECT_EQ(made, MPI_COMM_NULL);
      },
      {}, MPI_THREAD_MULTIPLE);
}

}  // namespace
}  // namespace weft
