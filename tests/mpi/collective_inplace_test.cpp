// SPDX-License-Identifier: BSD-3-Clause
// MPI_IN_PLACE where a rank has no bytes, in all forms, also where members compare their calls (WEFT_CHECK=1).
#include <array>
#include <functional>
#include <vector>

#include "mpi/ranks.hpp"
#include "mpi/typed_memory.hpp"

namespace weft {
namespace {

using namespace test;

constexpr int without_bytes = 1;  // this rank

// Runs `body` at 3 ranks, with each form, with and without the comparison.
void for_each_job(const std::function<void(int rank, form as)>& body) {
  for (const bool is_checked : {false, true}) {
    run_ranks(3,
              [&](numbers_of_rank mine) {
                for (const form as : forms) body(mine.rank, as);
              },
              {.check = is_checked});
  }
}

// A number for each pair of ranks, none for those with `without_bytes`.
struct pairs {
  std::array<int, 3> counts{};
  std::array<int, 3> offsets{0, 1, 2};
  std::array<int, 3> numbers{};
  std::array<int, 3> expected{};

  explicit pairs(int rank) {
    for (int other = 0; other < 3; ++other) {
      const auto at = static_cast<std::size_t>(other);
      counts[at] = rank == without_bytes || other == without_bytes ? 0 : 1;
      numbers[at] = 10 * rank + other;
      expected[at] = counts[at] == 0 ? numbers[at] : 10 * other + rank;
    }
  }
};

TEST(mpi_inplace, a_rank_of_an_alltoallv_may_have_no_bytes) {
  for_each_job([](int rank, form as) {
    pairs of{rank};
    EXPECT_EQ(carry_out(as, MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init, MPI_IN_PLACE, nullptr, nullptr,
                        MPI_DATATYPE_NULL, rank == without_bytes ? nullptr : of.numbers.data(), of.counts.data(),
                        of.offsets.data(), MPI_INT, MPI_COMM_WORLD),
              MPI_SUCCESS);
    EXPECT_EQ(of.numbers, of.expected);
  });
}

TEST(mpi_inplace, a_rank_of_an_alltoallw_may_have_no_bytes) {
  for_each_job([](int rank, form as) {
    pairs of{rank};
    const std::array<int, 3> offsets{0, 4, 8};
    const std::array<MPI_Datatype, 3> types{MPI_INT, MPI_INT, MPI_INT};
    EXPECT_EQ(carry_out(as, MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init, MPI_IN_PLACE, nullptr, nullptr, nullptr,
                        of.numbers.data(), of.counts.data(), offsets.data(), types.data(), MPI_COMM_WORLD),
              MPI_SUCCESS);
    EXPECT_EQ(of.numbers, of.expected);
  });
}

TEST(mpi_inplace, an_alltoallv_without_it_may_send_nothing_from_a_rank) {
  for_each_job([](int rank, form as) {
    const std::array<int, 3> offsets{0, 1, 2};
    std::array<int, 3> sent{}, received{1, 1, 1}, out{-1, -1, -1};
    received[without_bytes] = 0;
    if (rank != without_bytes) sent = {1, 1, 1};
    const std::array<int, 3> in{10 * rank, 10 * rank + 1, 10 * rank + 2};
    EXPECT_EQ(carry_out(as, MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init,
                        rank == without_bytes ? nullptr : in.data(), sent.data(), offsets.data(), MPI_INT, out.data(),
                        received.data(), offsets.data(), MPI_INT, MPI_COMM_WORLD),
              MPI_SUCCESS);
    EXPECT_EQ(out, (std::array<int, 3>{rank, -1, 20 + rank}));
  });
}

TEST(mpi_inplace, blocks_of_the_own_rank_may_be_empty) {
  for_each_job([](int rank, form as) {
    const bool is_empty = rank == without_bytes;
    const std::array<int, 3> counts{1, 0, 1}, offsets{0, 0, 1};
    std::array<int, 2> all{-1, -1};
    if (!is_empty) all[static_cast<std::size_t>(rank / 2)] = rank;
    EXPECT_EQ(carry_out(as, MPI_Allgatherv, MPI_Iallgatherv, MPI_Allgatherv_init, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL,
                        all.data(), counts.data(), offsets.data(), MPI_INT, MPI_COMM_WORLD),
              MPI_SUCCESS);
    EXPECT_EQ(all, (std::array<int, 2>{0, 2}));

    std::array<int, 2> gathered{-1, -1};
    EXPECT_EQ(carry_out(as, MPI_Gatherv, MPI_Igatherv, MPI_Gatherv_init,
                        is_empty ? MPI_IN_PLACE : static_cast<const void*>(&rank), is_empty ? 0 : 1, MPI_INT,
                        gathered.data(), counts.data(), offsets.data(), MPI_INT, without_bytes, MPI_COMM_WORLD),
              MPI_SUCCESS);
    EXPECT_EQ(gathered, is_empty ? (std::array<int, 2>{0, 2}) : (std::array<int, 2>{-1, -1}));

    int got = -1;
    EXPECT_EQ(carry_out(as, MPI_Scatterv, MPI_Iscatterv, MPI_Scatterv_init, gathered.data(), counts.data(),
                        offsets.data(), MPI_INT, is_empty ? MPI_IN_PLACE : static_cast<void*>(&got), is_empty ? 0 : 1,
                        MPI_INT, without_bytes, MPI_COMM_WORLD),
              MPI_SUCCESS);
    EXPECT_EQ(got, is_empty ? -1 : rank);

    std::array<int, 2> parts{rank + 1, 10};
    EXPECT_EQ(carry_out(as, MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init, MPI_IN_PLACE,
                        parts.data(), counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD),
              MPI_SUCCESS);
    if (!is_empty) {
      EXPECT_EQ(parts[0], rank == 0 ? 6 : 30);
    }
  });
}

TEST(mpi_inplace, no_rank_may_have_bytes) {
  for_each_job([](int /*rank*/, form as) {
    const std::array<int, 3> none{};
    const auto expect_success = [](int error) { EXPECT_EQ(error, MPI_SUCCESS); };
    expect_success(carry_out(as, MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init, MPI_IN_PLACE, nullptr, nullptr,
                             MPI_INT, nullptr, none.data(), none.data(), MPI_INT, MPI_COMM_WORLD));
    expect_success(carry_out(as, MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init, MPI_IN_PLACE, 0, MPI_INT, nullptr, 0,
                             MPI_INT, MPI_COMM_WORLD));
    expect_success(carry_out(as, MPI_Allgather, MPI_Iallgather, MPI_Allgather_init, MPI_IN_PLACE, 0, MPI_INT, nullptr,
                             0, MPI_INT, MPI_COMM_WORLD));
    expect_success(carry_out(as, MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, MPI_IN_PLACE, nullptr, 0, MPI_INT,
                             MPI_SUM, MPI_COMM_WORLD));
    expect_success(carry_out(as, MPI_Exscan, MPI_Iexscan, MPI_Exscan_init, MPI_IN_PLACE, nullptr, 0, MPI_INT, MPI_SUM,
                             MPI_COMM_WORLD));
    expect_success(carry_out(as, MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init, MPI_IN_PLACE,
                             nullptr, none.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  });
}

}  // namespace
}  // namespace weft
