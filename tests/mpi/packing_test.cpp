// SPDX-License-Identifier: BSD-3-Clause
// Pack and unpack (MPI 5.0, 5.2 and 5.3). The representations are tested in datatype/.
#include <array>
#include <string_view>

#include "mpi/ranks.hpp"
#include "mpi/types.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;
using test::type_owner;
using test::vector_type;

TEST(mpi_packing, messages_of_several_packed_types_are_unpacked_from_them) {
  run_ranks(2, [](numbers_of_rank mine) {
    const type_owner every_second = vector_type(3, 1, 2, MPI_INT);
    std::array<char, 100> packed{};
    int position = 0;
    if (mine.rank == 0) {
      const std::array numbers{1, -1, 2, -1, 3};
      const double real = 0.5;
      EXPECT_EQ(MPI_Pack(numbers.data(), 1, every_second, packed.data(), 100, &position, MPI_COMM_WORLD), MPI_SUCCESS);
      EXPECT_EQ(MPI_Pack(&real, 1, MPI_DOUBLE, packed.data(), 100, &position, MPI_COMM_WORLD), MPI_SUCCESS);
      EXPECT_EQ(position, 20);
      EXPECT_EQ(MPI_Send(packed.data(), position, MPI_PACKED, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
      return;
    }
    MPI_Status status{};
    int bytes = 0;
    EXPECT_EQ(MPI_Recv(packed.data(), 100, MPI_PACKED, 0, 0, MPI_COMM_WORLD, &status), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get_count(&status, MPI_PACKED, &bytes), MPI_SUCCESS);
    std::array<int, 3> numbers{};
    double real = 0;
    EXPECT_EQ(MPI_Unpack(packed.data(), bytes, &position, numbers.data(), 3, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(MPI_Unpack(packed.data(), bytes, &position, &real, 1, MPI_DOUBLE, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(numbers, (std::array{1, 2, 3}));
    EXPECT_EQ(real, 0.5);
    EXPECT_EQ(position, 20);
  });
}

TEST(mpi_packing, a_buffer_that_is_too_short_is_an_error_and_stays_as_it_is) {
  run_ranks(1, [](numbers_of_rank) {
    const std::array numbers{1, 2};
    std::array<int, 2> packed{-1, -1}, into{-1, -1};
    int position = 1;
    EXPECT_EQ(MPI_Pack(numbers.data(), 2, MPI_INT, packed.data(), 8, &position, MPI_COMM_SELF), MPI_ERR_TRUNCATE);
    EXPECT_EQ(MPI_Unpack(packed.data(), 8, &position, into.data(), 2, MPI_INT, MPI_COMM_SELF), MPI_ERR_TRUNCATE);
    EXPECT_EQ(position, 1);
    position = 9;
    EXPECT_EQ(MPI_Unpack(packed.data(), 8, &position, into.data(), 0, MPI_INT, MPI_COMM_SELF), MPI_ERR_ARG);
    EXPECT_EQ(packed, (std::array{-1, -1}));
    EXPECT_EQ(into, (std::array{-1, -1}));
  });
}

TEST(mpi_packing, external32_has_its_own_sizes_and_is_the_only_representation) {
  run_ranks(1, [](numbers_of_rank) {
    const std::array<long, 2> numbers{1, -2};
    MPI_Aint size = 0, position = 0;
    EXPECT_EQ(MPI_Pack_external_size("external32", 2, MPI_LONG, &size), MPI_SUCCESS);
    EXPECT_EQ(size, 8);
    std::array<char, 8> packed{};
    EXPECT_EQ(MPI_Pack_external("external32", numbers.data(), 2, MPI_LONG, packed.data(), 8, &position), MPI_SUCCESS);
    EXPECT_EQ(std::string_view(packed.data(), 8), std::string_view("\0\0\0\1\xff\xff\xff\xfe", 8));
    std::array<long, 2> into{};
    position = 0;
    EXPECT_EQ(MPI_Unpack_external("external32", packed.data(), 8, &position, into.data(), 2, MPI_LONG), MPI_SUCCESS);
    EXPECT_EQ(into, numbers);
    EXPECT_EQ(MPI_Pack_external_size("native", 2, MPI_LONG, &size), MPI_ERR_UNSUPPORTED_DATAREP);
    EXPECT_EQ(MPI_Unpack_external(nullptr, packed.data(), 8, &position, into.data(), 2, MPI_LONG), MPI_ERR_ARG);
  });
}

TEST(mpi_packing, a_type_that_is_not_committed_has_a_size_and_is_not_packed) {
  run_ranks(1, [](numbers_of_rank) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    EXPECT_EQ(MPI_Type_contiguous(2, MPI_INT, &type), MPI_SUCCESS);
    std::array<int, 2> numbers{}, packed{};
    int size = 0, position = 0;
    EXPECT_EQ(MPI_Pack_size(1, type, MPI_COMM_SELF, &size), MPI_SUCCESS);
    EXPECT_EQ(size, 8);
    EXPECT_EQ(MPI_Pack(numbers.data(), 1, type, packed.data(), 8, &position, MPI_COMM_SELF), MPI_ERR_TYPE);
    EXPECT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
    EXPECT_EQ(MPI_Pack(numbers.data(), 1, type, packed.data(), 8, &position, MPI_COMM_SELF), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_free(&type), MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace weft
