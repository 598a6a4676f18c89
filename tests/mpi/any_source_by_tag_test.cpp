// SPDX-License-Identifier: BSD-3-Clause
// The hint weft_assert_any_source_by_tag: receives name the tag and take any source, without order.
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "mpi/check/communication.hpp"
#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

constexpr const char* by_tag = "weft_assert_any_source_by_tag";
constexpr const char* overtaking = "mpi_assert_allow_overtaking";
constexpr const char* no_any_source = "mpi_assert_no_any_source";
constexpr const char* no_any_tag = "mpi_assert_no_any_tag";

MPI_Info info_of(std::initializer_list<const char*> keys, const char* value = "true") {
  MPI_Info out = MPI_INFO_NULL;
  EXPECT_EQ(MPI_Info_create(&out), MPI_SUCCESS);
  for (const char* each : keys) EXPECT_EQ(MPI_Info_set(out, each, value), MPI_SUCCESS);
  return out;
}

MPI_Comm made_by(MPI_Info info) {
  MPI_Comm out = MPI_COMM_NULL;
  EXPECT_EQ(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &out), MPI_SUCCESS);
  if (info != MPI_INFO_NULL) {
    EXPECT_EQ(MPI_Info_free(&info), MPI_SUCCESS);
  }
  return out;
}

MPI_Comm made_by_tag() { return made_by(info_of({by_tag, overtaking})); }

void free_one(MPI_Comm comm) { EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS); }

bool has_hint(MPI_Comm comm, const char* key) {
  MPI_Info used = MPI_INFO_NULL;
  EXPECT_EQ(MPI_Comm_get_info(comm, &used), MPI_SUCCESS);
  std::array<char, 8> text{};
  int bytes = text.size(), is_there = 0;
  EXPECT_EQ(MPI_Info_get_string(used, key, &bytes, text.data(), &is_there), MPI_SUCCESS);
  EXPECT_EQ(is_there, 1) << key;
  EXPECT_EQ(MPI_Info_free(&used), MPI_SUCCESS);
  return std::string{text.data()} == "true";
}

mpi::matching_kind kind_of(MPI_Comm comm) {
  const mpi::communicator* const found = mpi::find_communicator(*mpi::current_rank(), comm);
  EXPECT_EQ(found->engine.is_ordered(), found->hints.matching() == mpi::matching_kind::in_order);
  return found->hints.matching();
}

std::vector<int> numbers(int rank, int tag, int count) {
  std::vector<int> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 1000 * rank + tag);
  return out;
}

void expect_message(std::span<const int> received, const MPI_Status& status, int rank, int tag) {
  int count = -1;
  EXPECT_EQ(MPI_Get_count(&status, MPI_INT, &count), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, rank);
  EXPECT_EQ(status.MPI_TAG, tag);
  ASSERT_LE(static_cast<std::size_t>(count), received.size());
  const auto first = received.first(static_cast<std::size_t>(count));
  EXPECT_EQ(std::vector<int>(first.begin(), first.end()), numbers(rank, tag, count));
}

TEST(mpi_any_source_by_tag, receives_take_the_messages_of_their_tag_from_any_rank) {
  for (const int level : {MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE}) {
    run_ranks(
        3,
        [](numbers_of_rank mine) {
          MPI_Comm comm = made_by_tag();
          EXPECT_EQ(kind_of(comm), mpi::matching_kind::by_tag);
          for (const int count : {0, 2, 500, 50'000}) {
            constexpr int tags = 3;
            if (mine.rank != 0) {
              std::array<std::vector<int>, tags> sent;
              std::array<MPI_Request, tags> requests{};
              for (int tag = tags; tag-- > 0;) {  // in another order than that of the receives
                const auto index = static_cast<std::size_t>(tag);
                sent[index] = numbers(mine.rank, tag, count);
                EXPECT_EQ(MPI_Isend(sent[index].data(), count, MPI_INT, 0, tag, comm, &requests[index]), MPI_SUCCESS);
              }
              EXPECT_EQ(MPI_Waitall(tags, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
              EXPECT_EQ(MPI_Barrier(comm), MPI_SUCCESS);
              continue;
            }
            std::vector<int> received(static_cast<std::size_t>(count));
            for (int tag = 0; tag < tags; ++tag) {
              int sources = 0;
              for (int round = 1; round < mine.size; ++round) {
                MPI_Status status{};
                MPI_Request request = MPI_REQUEST_NULL;
                EXPECT_EQ(MPI_Irecv(received.data(), count, MPI_INT, MPI_ANY_SOURCE, tag, comm, &request), MPI_SUCCESS);
                EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
                expect_message(received, status, status.MPI_SOURCE, tag);
                sources += status.MPI_SOURCE;
              }
              EXPECT_EQ(sources, 1 + 2);
            }
            EXPECT_EQ(MPI_Barrier(comm), MPI_SUCCESS);
          }
          free_one(comm);
        },
        {}, level);
  }
}

TEST(mpi_any_source_by_tag, all_kinds_of_sends_and_receives_meet) {
  run_ranks(2, [](numbers_of_rank mine) {
    MPI_Comm comm = made_by_tag();
    const int other = 1 - mine.rank;
    const std::vector<int> sent = numbers(mine.rank, 4, 300);
    std::vector<int> received(300);
    MPI_Status status{};
    EXPECT_EQ(MPI_Sendrecv(sent.data(), 300, MPI_INT, other, 4, received.data(), 300, MPI_INT, MPI_ANY_SOURCE, 4, comm,
                           &status),
              MPI_SUCCESS);
    expect_message(received, status, other, 4);

    received = sent;
    EXPECT_EQ(MPI_Sendrecv_replace(received.data(), 300, MPI_INT, other, 4, MPI_ANY_SOURCE, 4, comm, &status),
              MPI_SUCCESS);
    expect_message(received, status, other, 4);

    std::array<MPI_Request, 2> requests{};
    EXPECT_EQ(MPI_Recv_init(received.data(), 300, MPI_INT, MPI_ANY_SOURCE, 4, comm, requests.data()), MPI_SUCCESS);
    EXPECT_EQ(MPI_Send_init(sent.data(), 300, MPI_INT, other, 4, comm, &requests[1]), MPI_SUCCESS);
    for (int round = 0; round < 2; ++round) {
      received.assign(300, 0);
      std::array<MPI_Status, 2> statuses{};
      EXPECT_EQ(MPI_Startall(2, requests.data()), MPI_SUCCESS);
      EXPECT_EQ(MPI_Waitall(2, requests.data(), statuses.data()), MPI_SUCCESS);
      expect_message(received, statuses[0], other, 4);
    }
    for (MPI_Request& each : requests) EXPECT_EQ(MPI_Request_free(&each), MPI_SUCCESS);

    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Ssend(sent.data(), 300, MPI_INT, other, 4, comm), MPI_SUCCESS);
    } else {
      EXPECT_EQ(MPI_Recv(received.data(), 300, MPI_INT, MPI_ANY_SOURCE, 4, comm, &status), MPI_SUCCESS);
      expect_message(received, status, other, 4);
    }
    EXPECT_EQ(MPI_Recv(received.data(), 300, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, comm, &status), MPI_SUCCESS);
    EXPECT_EQ(MPI_Irecv(received.data(), 300, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, comm, requests.data()), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(requests.data(), &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    free_one(comm);
  });
}

TEST(mpi_any_source_by_tag, probes_find_a_message_by_its_tag) {
  run_ranks(2, [](numbers_of_rank mine) {
    MPI_Comm comm = made_by_tag();
    for (const int count : {3, 50'000}) {
      const int tag = count == 3 ? 6 : 8;  // messages of one tag have no order
      const std::vector<int> sent = numbers(0, tag, count);
      if (mine.rank == 0) {
        for (int round = 0; round < 3; ++round)
          EXPECT_EQ(MPI_Send(sent.data(), count, MPI_INT, 1, tag, comm), MPI_SUCCESS);
        continue;
      }
      std::vector<int> received(sent.size());
      MPI_Status status{};
      MPI_Message message = MPI_MESSAGE_NULL;
      int flag = 0;
      EXPECT_EQ(MPI_Iprobe(MPI_ANY_SOURCE, 7, comm, &flag, &status), MPI_SUCCESS);
      EXPECT_EQ(flag, 0);
      EXPECT_EQ(MPI_Probe(MPI_ANY_SOURCE, tag, comm, &status), MPI_SUCCESS);
      EXPECT_EQ(MPI_Recv(received.data(), count, MPI_INT, MPI_ANY_SOURCE, tag, comm, &status), MPI_SUCCESS);
      expect_message(received, status, 0, tag);
      EXPECT_EQ(MPI_Mprobe(MPI_ANY_SOURCE, tag, comm, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_Mrecv(received.data(), count, MPI_INT, &message, &status), MPI_SUCCESS);
      expect_message(received, status, 0, tag);
      for (flag = 0; flag == 0;)
        EXPECT_EQ(MPI_Improbe(MPI_ANY_SOURCE, tag, comm, &flag, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_Mrecv(received.data(), count, MPI_INT, &message, &status), MPI_SUCCESS);
      expect_message(received, status, 0, tag);
    }
    free_one(comm);
  });
}

TEST(mpi_any_source_by_tag, a_receive_that_names_its_source_or_no_tag_is_an_error_and_takes_nothing) {
  run_ranks(2, [](numbers_of_rank mine) {
    MPI_Comm comm = made_by_tag();
    EXPECT_EQ(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), MPI_SUCCESS);
    const int other = 1 - mine.rank;
    int number = mine.rank, received = -1, flag = 0;
    EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, other, 5, comm), MPI_SUCCESS);
    struct wrong {
      int source, tag, error;
    };
    for (const wrong& each : {wrong{other, 5, MPI_ERR_RANK}, wrong{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_ERR_TAG},
                              wrong{mine.rank, 5, MPI_ERR_RANK}, wrong{2, 5, MPI_ERR_RANK}}) {
      const auto [source, tag, error] = each;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Message message = MPI_MESSAGE_NULL;
      EXPECT_EQ(MPI_Recv(&received, 1, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE), error);
      EXPECT_EQ(MPI_Irecv(&received, 1, MPI_INT, source, tag, comm, &request), error);
      EXPECT_EQ(MPI_Recv_init(&received, 1, MPI_INT, source, tag, comm, &request), error);
      EXPECT_EQ(
          MPI_Sendrecv(&number, 1, MPI_INT, other, 9, &received, 1, MPI_INT, source, tag, comm, MPI_STATUS_IGNORE),
          error);
      EXPECT_EQ(MPI_Probe(source, tag, comm, MPI_STATUS_IGNORE), error);
      EXPECT_EQ(MPI_Iprobe(source, tag, comm, &flag, MPI_STATUS_IGNORE), error);
      EXPECT_EQ(MPI_Mprobe(source, tag, comm, &message, MPI_STATUS_IGNORE), error);
      EXPECT_EQ(MPI_Improbe(source, tag, comm, &flag, &message, MPI_STATUS_IGNORE), error);
    }
    const mpi::communicator& found = *mpi::find_communicator(*mpi::current_rank(), comm);
    EXPECT_NE(mpi::check::source(found, other), mpi::error_class::success);
    EXPECT_STREQ(
        mpi::take_failure().text.data(),
        ("source " + std::to_string(other) + " where receives take any source, by the communicator's hint " + by_tag)
            .c_str());
    EXPECT_NE(mpi::check::receive_tag(found, MPI_ANY_SOURCE, MPI_ANY_TAG), mpi::error_class::success);
    EXPECT_STREQ(mpi::take_failure().text.data(),
                 "any tag where receives name it, by the communicator's hint weft_assert_any_source_by_tag");

    EXPECT_EQ(MPI_Recv(&received, 1, MPI_INT, MPI_ANY_SOURCE, 5, comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(received, other);
    free_one(comm);
  });
}

TEST(mpi_any_source_by_tag, a_communicator_has_it_if_all_members_give_it_and_allow_overtaking) {
  run_ranks(3, [](numbers_of_rank mine) {
    using mpi::matching_kind;
    const bool is_first = mine.rank == 0;
    struct known_case {
      MPI_Info info;
      matching_kind kind;
    };
    const std::array cases{
        known_case{info_of({by_tag, overtaking}), matching_kind::by_tag},
        known_case{info_of({by_tag, overtaking, no_any_tag}), matching_kind::by_tag},
        known_case{info_of({by_tag}), matching_kind::in_order},
        known_case{is_first ? info_of({by_tag}) : info_of({by_tag, overtaking}), matching_kind::in_order},
        known_case{is_first ? MPI_INFO_NULL : info_of({by_tag, overtaking}), matching_kind::in_order},
        // Contradictions: MPI's own hints count.
        known_case{info_of({by_tag, overtaking, no_any_source}), matching_kind::in_order},
        known_case{info_of({by_tag, overtaking, no_any_source, no_any_tag}), matching_kind::by_rank_and_tag},
        known_case{is_first ? info_of({overtaking, no_any_source, no_any_tag}) : info_of({by_tag, overtaking}),
                   matching_kind::in_order},
    };
    for (const known_case& each : cases) {
      MPI_Comm comm = made_by(each.info);
      EXPECT_EQ(kind_of(comm), each.kind);
      EXPECT_EQ(has_hint(comm, by_tag), each.kind == matching_kind::by_tag);
      // Later hints change nothing of it.
      for (const char* value : {"true", "false"}) {
        MPI_Info later = info_of({by_tag, overtaking}, value);
        EXPECT_EQ(MPI_Comm_set_info(comm, later), MPI_SUCCESS);
        EXPECT_EQ(MPI_Info_free(&later), MPI_SUCCESS);
        EXPECT_EQ(kind_of(comm), each.kind);
        EXPECT_EQ(has_hint(comm, by_tag), each.kind == matching_kind::by_tag);
      }
      MPI_Comm copy = MPI_COMM_NULL;
      EXPECT_EQ(MPI_Comm_dup(comm, &copy), MPI_SUCCESS);
      EXPECT_FALSE(has_hint(copy, by_tag));
      EXPECT_EQ(kind_of(copy), matching_kind::in_order);
      // Collectives match in their group.
      int sum = 0;
      EXPECT_EQ(MPI_Allreduce(&mine.rank, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
      EXPECT_EQ(sum, 0 + 1 + 2);
      free_one(copy);
      free_one(comm);
    }
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Info info = info_of({by_tag, overtaking});
    EXPECT_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, info, &part), MPI_SUCCESS);
    EXPECT_EQ(MPI_Info_free(&info), MPI_SUCCESS);
    EXPECT_FALSE(has_hint(part, by_tag));
    EXPECT_EQ(kind_of(part), matching_kind::in_order);
    free_one(part);
  });
}

TEST(mpi_any_source_by_tag, threads_receive_by_their_own_tags) {
  constexpr int threads = 4, rounds = 100;
  run_ranks(
      2,
      [](numbers_of_rank mine) {
        MPI_Comm comm = made_by_tag();
        test::run_threads_of_rank(threads, [&](int thread) {
          for (int round = 0; round < rounds; ++round) {
            const int sent = mine.rank * 1'000'000 + thread * 1000 + round;
            int received = -1;
            const int tag = thread * 2 + round % 2;  // the peer may be one round ahead
            MPI_Request request = MPI_REQUEST_NULL;
            EXPECT_EQ(MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, tag, comm, &request), MPI_SUCCESS);
            EXPECT_EQ(MPI_Send(&sent, 1, MPI_INT, 1 - mine.rank, tag, comm), MPI_SUCCESS);
            EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(received, (1 - mine.rank) * 1'000'000 + thread * 1000 + round);
          }
        });
        EXPECT_EQ(MPI_Barrier(comm), MPI_SUCCESS);
        free_one(comm);
      },
      {}, MPI_THREAD_MULTIPLE);
}

}  // namespace
}  // namespace weft
