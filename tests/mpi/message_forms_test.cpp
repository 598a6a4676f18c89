// SPDX-License-Identifier: BSD-3-Clause
// The same messages in communicators of all kinds, received by all forms of envelopes: short paths and the general one
// do the same.
#include <array>
#include <utility>
#include <vector>

#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

// A communicator as one member sees it; released at its end, unless it is one of MPI's own.
class member_of {
 public:
  explicit member_of(MPI_Comm own) : comm_{own} { find_numbers(); }
  member_of(int color, int key) : is_made_{true} {
    EXPECT_EQ(MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), MPI_SUCCESS);
    find_numbers();
  }
  member_of(const member_of&) = delete;
  member_of& operator=(const member_of&) = delete;
  ~member_of() {
    if (is_made_) {
      EXPECT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS);
    }
  }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int right() const { return (rank_ + 1) % size_; }
  [[nodiscard]] int left() const { return (rank_ + size_ - 1) % size_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

 private:
  void find_numbers() {
    EXPECT_EQ(MPI_Comm_rank(comm_, &rank_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_size(comm_, &size_), MPI_SUCCESS);
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  bool is_made_ = false;
  int rank_ = -1;
  int size_ = 0;
};

constexpr std::array sources_open{false, true};
constexpr std::array tags_open{false, true};
constexpr std::array counts{std::size_t{1}, std::size_t{20}, std::size_t{5000}};

// Calls `body` for each member and communicator: the ranks, in another order, a part of them, one of each alone.
template <class Body>
void in_all_communicators(numbers_of_rank mine, const Body& body) {
  body(member_of{MPI_COMM_WORLD});
  body(member_of{0, mine.rank});
  body(member_of{0, -mine.rank});
  body(member_of{mine.rank % 2, -mine.rank});
  body(member_of{mine.rank, 0});
  body(member_of{MPI_COMM_SELF});
}

void expect_from(const member_of& member, const MPI_Status& status, int tag, std::size_t count) {
  int found = -1;
  EXPECT_EQ(MPI_Get_count(&status, MPI_INT, &found), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, member.left());
  EXPECT_EQ(status.MPI_TAG, tag);
  EXPECT_EQ(found, static_cast<int>(count));
}

// Each member sends to the next one, and receives by an envelope that may be open. `tag` has been used by no other
// call.
void exchange(const member_of& member, int tag, std::size_t count, bool open_source, bool open_tag, bool started) {
  const std::vector<int> sent(count, 1000 * member.rank() + tag);
  std::vector<int> received(count, -1);
  const int length = static_cast<int>(count);
  const int source = open_source ? MPI_ANY_SOURCE : member.left();
  const int wanted = open_tag ? MPI_ANY_TAG : tag;
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status{};
  if (started) {
    EXPECT_EQ(MPI_Irecv(received.data(), length, MPI_INT, source, wanted, member.comm(), &requests[0]), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_Isend(sent.data(), length, MPI_INT, member.right(), tag, member.comm(), &requests[1]), MPI_SUCCESS);
  if (started) {
    EXPECT_EQ(MPI_Wait(&requests[0], &status), MPI_SUCCESS);
  } else {
    EXPECT_EQ(MPI_Recv(received.data(), length, MPI_INT, source, wanted, member.comm(), &status), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
  expect_from(member, status, tag, count);
  EXPECT_EQ(received, std::vector<int>(count, 1000 * member.left() + tag));
}

void exchange_in_all_forms(int level) {
  run_ranks(
      4,
      [](numbers_of_rank mine) {
        in_all_communicators(mine, [](const member_of& member) {
          int tag = 0;
          for (const std::size_t count : counts)
            for (const bool open_source : sources_open)
              for (const bool open_tag : tags_open)
                for (const bool started : {false, true}) exchange(member, ++tag, count, open_source, open_tag, started);
        });
      },
      {}, level);
}

TEST(mpi_message_forms, give_the_same_results_in_all_communicators) { exchange_in_all_forms(MPI_THREAD_SINGLE); }

TEST(mpi_message_forms, give_the_same_results_with_several_threads_allowed) {
  exchange_in_all_forms(MPI_THREAD_MULTIPLE);
}

TEST(mpi_message_forms, blocking_sends_reach_the_member_of_that_number) {
  run_ranks(4, [](numbers_of_rank mine) {
    in_all_communicators(mine, [](const member_of& member) {
      for (int to = 0; to < member.size(); ++to) {
        const std::array<int, 2> sent{member.rank(), to};
        EXPECT_EQ(MPI_Send(sent.data(), 2, MPI_INT, to, to, member.comm()), MPI_SUCCESS);
      }
      for (int from = 0; from < member.size(); ++from) {
        std::array<int, 2> received{};
        EXPECT_EQ(MPI_Recv(received.data(), 2, MPI_INT, from, member.rank(), member.comm(), MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
        EXPECT_EQ(received, (std::array{from, member.rank()}));
      }
    });
  });
}

TEST(mpi_message_forms, messages_of_one_source_are_received_in_their_order_by_receives_of_all_forms) {
  run_ranks(3, [](numbers_of_rank mine) {
    in_all_communicators(mine, [](const member_of& member) {
      constexpr int messages = 40;
      std::array<int, messages> sent{}, received{};
      std::array<MPI_Request, 2 * messages> requests{};
      for (int each = 0; each < messages; ++each) {
        const auto at = static_cast<std::size_t>(each);
        sent[at] = each;
        const int source = each % 2 == 0 ? MPI_ANY_SOURCE : member.left();
        const int tag = each % 3 == 0 ? MPI_ANY_TAG : 5;
        EXPECT_EQ(MPI_Irecv(&received[at], 1, MPI_INT, source, tag, member.comm(), &requests[2 * at]), MPI_SUCCESS);
        EXPECT_EQ(MPI_Isend(&sent[at], 1, MPI_INT, member.right(), 5, member.comm(), &requests[2 * at + 1]),
                  MPI_SUCCESS);
      }
      EXPECT_EQ(MPI_Waitall(2 * messages, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(received, sent);
    });
  });
}

TEST(mpi_message_forms, wrong_envelopes_are_errors_in_all_communicators) {
  run_ranks(2, [](numbers_of_rank mine) {
    in_all_communicators(mine, [](const member_of& member) {
      int word = 7;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Status status{};
      const MPI_Comm comm = member.comm();
      EXPECT_EQ(MPI_Send(&word, 1, MPI_INT, member.size(), 1, comm), MPI_ERR_RANK);
      EXPECT_EQ(MPI_Isend(&word, 1, MPI_INT, -9, 1, comm, &request), MPI_ERR_RANK);
      EXPECT_EQ(MPI_Isend(&word, 1, MPI_INT, 0, MPI_ANY_TAG, comm, &request), MPI_ERR_TAG);
      EXPECT_EQ(MPI_Recv(&word, 1, MPI_INT, member.size(), 1, comm, &status), MPI_ERR_RANK);
      EXPECT_EQ(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, -9, comm, &status), MPI_ERR_TAG);
      EXPECT_EQ(MPI_Irecv(&word, 1, MPI_INT, -9, MPI_ANY_TAG, comm, &request), MPI_ERR_RANK);
      EXPECT_EQ(MPI_Irecv(&word, -1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &request), MPI_ERR_COUNT);
      EXPECT_EQ(request, MPI_REQUEST_NULL);
      EXPECT_EQ(MPI_Recv(&word, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, comm, &status), MPI_SUCCESS);
      EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
      EXPECT_EQ(MPI_Irecv(&word, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &request), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
      EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
      EXPECT_EQ(word, 7);
    });
  });
}

}  // namespace
}  // namespace weft
