// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments of collectives. All ranks call wrongly where a call is refused before it begins.
#include <array>
#include <limits>
#include <vector>

#include "mpi/ranks.hpp"
#include "mpi/typed_memory.hpp"
#include "mpi/types.hpp"

namespace weft {
namespace {

using namespace test;

TEST(mpi_collective_errors, wrong_arguments_have_their_class) {
  run_ranks(2, [](numbers_of_rank) {
    std::array<int, 8> in{}, out{};
    const MPI_Comm all = MPI_COMM_WORLD;
    EXPECT_EQ(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    EXPECT_EQ(MPI_Bcast(in.data(), 1, MPI_INT, 2, all), MPI_ERR_ROOT);
    EXPECT_EQ(MPI_Bcast(in.data(), 1, MPI_INT, -1, all), MPI_ERR_ROOT);
    EXPECT_EQ(MPI_Bcast(in.data(), -1, MPI_INT, 0, all), MPI_ERR_COUNT);
    EXPECT_EQ(MPI_Bcast(in.data(), 1, MPI_DATATYPE_NULL, 0, all), MPI_ERR_TYPE);
    EXPECT_EQ(MPI_Bcast(nullptr, 1, MPI_INT, 0, all), MPI_ERR_BUFFER);
    EXPECT_EQ(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, all), MPI_ERR_BUFFER);
    EXPECT_EQ(MPI_Gather(in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, 7, all), MPI_ERR_ROOT);
    EXPECT_EQ(MPI_Allgather(in.data(), -1, MPI_INT, out.data(), 1, MPI_INT, all), MPI_ERR_COUNT);
    EXPECT_EQ(MPI_Allgather(in.data(), 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, all), MPI_ERR_BUFFER);
    EXPECT_EQ(MPI_Allgather(in.data(), 1, MPI_INT, out.data(), 1, MPI_DATATYPE_NULL, all), MPI_ERR_TYPE);
    EXPECT_EQ(MPI_Allgather(in.data(), 2, MPI_INT, out.data(), 1, MPI_INT, all), MPI_ERR_TRUNCATE);
    EXPECT_EQ(MPI_Allgatherv(in.data(), 1, MPI_INT, out.data(), nullptr, in.data(), MPI_INT, all), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Allgatherv(in.data(), 1, MPI_INT, out.data(), in.data(), nullptr, MPI_INT, all), MPI_ERR_ARG);
    const std::array<int, 2> negative{1, -1};
    EXPECT_EQ(MPI_Allgatherv(in.data(), 1, MPI_INT, out.data(), negative.data(), in.data(), MPI_INT, all),
              MPI_ERR_COUNT);
    const std::array<MPI_Datatype, 2> types{MPI_INT, MPI_DATATYPE_NULL};
    const std::array<int, 2> ones{1, 1};
    EXPECT_EQ(MPI_Alltoallw(in.data(), ones.data(), in.data(), types.data(), out.data(), ones.data(), in.data(),
                            types.data(), all),
              MPI_ERR_TYPE);
    EXPECT_EQ(
        MPI_Alltoallw(in.data(), in.data(), in.data(), types.data(), out.data(), in.data(), in.data(), nullptr, all),
        MPI_ERR_ARG);
    EXPECT_EQ(MPI_Allreduce(in.data(), out.data(), 1, MPI_INT, MPI_OP_NULL, all), MPI_ERR_OP);
    EXPECT_EQ(MPI_Allreduce(in.data(), out.data(), 1, MPI_INT, MPI_NO_OP, all), MPI_ERR_OP);
    EXPECT_EQ(MPI_Allreduce(in.data(), MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, all), MPI_ERR_BUFFER);
    EXPECT_EQ(MPI_Allreduce(nullptr, out.data(), 1, MPI_INT, MPI_SUM, all), MPI_ERR_BUFFER);
    EXPECT_EQ(MPI_Reduce_scatter(in.data(), out.data(), nullptr, MPI_INT, MPI_SUM, all), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Reduce_scatter_block(in.data(), out.data(), -1, MPI_INT, MPI_SUM, all), MPI_ERR_COUNT);
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Ibcast(in.data(), -1, MPI_INT, 0, all, &request), MPI_ERR_COUNT);
    EXPECT_EQ(MPI_Ibarrier(all, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Bcast_init(in.data(), 1, MPI_INT, 9, all, MPI_INFO_NULL, &request), MPI_ERR_ROOT);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_EQ(MPI_Barrier(all), MPI_SUCCESS);
  });
}

TEST(mpi_collective_errors, in_place_is_refused_at_ranks_where_it_means_nothing) {
  run_ranks(2, [](numbers_of_rank mine) {
    std::array<int, 4> buffer{};
    const int other = 1 - mine.rank;  // each rank takes the other one for the root: no call is begun
    EXPECT_EQ(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, buffer.data(), 1, MPI_INT, other, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    EXPECT_EQ(MPI_Scatter(buffer.data(), 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, other, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    EXPECT_EQ(MPI_Reduce(MPI_IN_PLACE, buffer.data(), 1, MPI_INT, MPI_SUM, other, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
  });
}

TEST(mpi_collective_errors, counts_whose_bytes_do_not_fit_in_64_bits_are_refused) {
  run_ranks(2, [](numbers_of_rank) {
    int buffer = 0;
    constexpr MPI_Count most = std::numeric_limits<MPI_Count>::max();
    const MPI_Comm all = MPI_COMM_WORLD;
    EXPECT_EQ(MPI_Bcast_c(&buffer, most, MPI_INT, 0, all), MPI_ERR_COUNT);
    EXPECT_EQ(MPI_Allgather_c(&buffer, 1, MPI_INT, &buffer, most, MPI_INT, all), MPI_ERR_COUNT);
    EXPECT_EQ(MPI_Alltoall_c(&buffer, 1, MPI_BYTE, &buffer, most / 2 + 1, MPI_BYTE, all), MPI_ERR_COUNT);
    EXPECT_EQ(MPI_Allreduce_c(&buffer, &buffer, most, MPI_INT, MPI_SUM, all), MPI_ERR_COUNT);
    EXPECT_EQ(MPI_Reduce_scatter_block_c(&buffer, &buffer, most, MPI_INT, MPI_SUM, all), MPI_ERR_COUNT);
    const std::array<MPI_Count, 2> counts{most / 2 + 1, most / 2 + 1};
    EXPECT_EQ(MPI_Reduce_scatter_c(&buffer, &buffer, counts.data(), MPI_BYTE, MPI_SUM, all), MPI_ERR_OP);
    EXPECT_EQ(MPI_Reduce_scatter_c(&buffer, &buffer, counts.data(), MPI_SIGNED_CHAR, MPI_SUM, all), MPI_ERR_COUNT);
    const std::array<MPI_Count, 2> zeros{};
    const std::array<MPI_Aint, 2> offsets{};
    const auto lists = [&](const MPI_Count* of) {
      return MPI_Alltoallv_c(&buffer, zeros.data(), offsets.data(), MPI_INT, &buffer, of, offsets.data(), MPI_INT, all);
    };
    EXPECT_EQ(lists(counts.data()), MPI_ERR_COUNT);
    EXPECT_EQ(lists(zeros.data()), MPI_SUCCESS);
  });
}

// More elements than an int counts, of a type in which they all lie at one address.
TEST(mpi_collective_errors, more_elements_than_an_int_counts_are_moved) {
  run_ranks(2, [](numbers_of_rank mine) {
    MPI_Datatype empty = MPI_DATATYPE_NULL;
    ASSERT_EQ(MPI_Type_contiguous(0, MPI_INT, &empty), MPI_SUCCESS);
    ASSERT_EQ(MPI_Type_commit(&empty), MPI_SUCCESS);
    constexpr MPI_Count many = MPI_Count{5} << 32;
    EXPECT_EQ(MPI_Bcast_c(nullptr, many, empty, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(MPI_Allgather_c(nullptr, many, empty, nullptr, many, empty, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_free(&empty), MPI_SUCCESS);
    // A block far from the address of the buffer, which is described in 64 bits.
    std::array<int, 2> received{-1, -1};
    const std::array<MPI_Count, 2> counts{1, 1};
    const std::array<MPI_Aint, 2> offsets{(MPI_Aint{3} << 32) + 1, MPI_Aint{3} << 32};
    void* const far = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(received.data()) -
                                              (std::uintptr_t{3} << 32) * sizeof(int));
    EXPECT_EQ(MPI_Allgatherv_c(&mine.rank, 1, MPI_INT, far, counts.data(), offsets.data(), MPI_INT, MPI_COMM_WORLD),
              MPI_SUCCESS);
    EXPECT_EQ(received, (std::array<int, 2>{1, 0}));
  });
}

TEST(mpi_collective_errors, a_member_that_expects_less_gets_truncate_and_nothing_behind_its_buffer) {
  const runtime_options unchecked{.check = false};  // or the members compare their calls, and nothing is sent
  for (const int sent : {3, 5000, 500000}) {
    run_ranks(
        2,
        [&](numbers_of_rank mine) {
          std::vector<int> buffer(static_cast<std::size_t>(sent), mine.rank);
          const int error = MPI_Bcast(buffer.data(), mine.rank == 0 ? sent : sent - 1, MPI_INT, 0, MPI_COMM_WORLD);
          EXPECT_EQ(error, mine.rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE) << sent;
          EXPECT_EQ(buffer.back(), mine.rank);
        },
        unchecked);
    run_ranks(
        2,
        [&](numbers_of_rank mine) {
          std::vector<int> buffer(static_cast<std::size_t>(sent), mine.rank);
          MPI_Request request = MPI_REQUEST_NULL;
          EXPECT_EQ(MPI_Ibcast(buffer.data(), mine.rank == 0 ? sent : sent - 1, MPI_INT, 0, MPI_COMM_WORLD, &request),
                    MPI_SUCCESS);
          EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), mine.rank == 0 ? MPI_SUCCESS : MPI_ERR_TRUNCATE) << sent;
          EXPECT_EQ(buffer.back(), mine.rank);
        },
        unchecked);
  }
}

// In a ring each rank has two neighbours, and no type for the others.
TEST(mpi_collective_errors, alltoallw_takes_no_type_beside_a_count_of_0) {
  run_ranks(3, [](numbers_of_rank mine) {
    for (const form as : forms) {
      const auto size = static_cast<std::size_t>(mine.size);
      const std::size_t next = static_cast<std::size_t>(mine.rank + 1) % size;
      const std::size_t previous = static_cast<std::size_t>(mine.rank + mine.size - 1) % size;
      std::vector<int> sent(size), received(size), offsets(size);
      std::vector<MPI_Datatype> sent_types(size, MPI_DATATYPE_NULL), received_types(size, MPI_DATATYPE_NULL);
      sent[next] = received[previous] = 1;
      sent_types[next] = received_types[previous] = MPI_INT;
      int got = -1;
      EXPECT_EQ(
          carry_out(as, MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init, &mine.rank, sent.data(), offsets.data(),
                    sent_types.data(), &got, received.data(), offsets.data(), received_types.data(), MPI_COMM_WORLD),
          MPI_SUCCESS);
      EXPECT_EQ(got, static_cast<int>(previous));
      received_types[previous] = MPI_DATATYPE_NULL;  // with an element
      EXPECT_EQ(
          carry_out(as, MPI_Alltoallw, MPI_Ialltoallw, MPI_Alltoallw_init, &mine.rank, sent.data(), offsets.data(),
                    sent_types.data(), &got, received.data(), offsets.data(), received_types.data(), MPI_COMM_WORLD),
          MPI_ERR_TYPE);
    }
  });
}

}  // namespace
}  // namespace weft
